# ACCRUE_SANITIZE: compiles and links everything below with the named sanitizers. The first
# finding ends the program, so a test cannot pass over one.
foreach(sanitizer IN LISTS ACCRUE_SANITIZE)
  if(NOT sanitizer MATCHES "^(address|undefined|thread)$")
    message(FATAL_ERROR "ACCRUE_SANITIZE names \"${sanitizer}\"; "
                        "it is a list of address, undefined, thread")
  endif()
endforeach()
if("address" IN_LIST ACCRUE_SANITIZE AND "thread" IN_LIST ACCRUE_SANITIZE)
  message(FATAL_ERROR "ACCRUE_SANITIZE: address and thread cannot be combined")
endif()
# The host executor of CUDA kernels (kernels/simt) has the hooks of the thread sanitizer, with which
# it cannot share a program. The others it can: kernel files are compiled without them.
set(ACCRUE_WITH_EXECUTOR TRUE)
if("thread" IN_LIST ACCRUE_SANITIZE)
  set(ACCRUE_WITH_EXECUTOR FALSE)
endif()
foreach(sanitizer IN LISTS ACCRUE_SANITIZE)
  add_compile_options(-fsanitize=${sanitizer})
  add_link_options(-fsanitize=${sanitizer})
endforeach()
if("undefined" IN_LIST ACCRUE_SANITIZE)
  add_compile_options(-fsanitize=float-cast-overflow)  # not part of `undefined`, yet undefined
endif()
if(ACCRUE_SANITIZE)
  add_compile_options(-fno-sanitize-recover=all -fno-omit-frame-pointer)
  # Instrumented code of <regex> and <functional> looks uninitialized to g++ 12, and is not.
  add_compile_options(-Wno-maybe-uninitialized)
endif()
