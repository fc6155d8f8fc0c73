accrue_layer(NAME autograd BELOW kernels core
  HEADERS
    grad_slot.h meta.h node.h grad_mode.h saved.h op.h anomaly.h tape.h pass.h hooks.h grad.h
    ops.h ops/support.h
    ops/arithmetic.h
    ops/conv.h
    ops/softmax.h
  SOURCES
    grad_slot.cpp meta.cpp node.cpp grad_mode.cpp saved.cpp anomaly.cpp tape.cpp pass.cpp hooks.cpp
    grad.cpp backward.cpp
    ops/support.cpp ops/arithmetic.cpp
    ops/conv.cpp
    ops/softmax.cpp)
