# accrue_warnings(TARGET): the warnings our own code is held to; nothing reaches a consumer.
function(accrue_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                         -Woverloaded-virtual -Wno-missing-field-initializers
                         $<$<BOOL:${ACCRUE_WERROR}>:-Werror>)
endfunction()
