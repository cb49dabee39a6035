# The functions of tvm-ffi's CMake package for device code, by their names, over this package: they
# need no nvcc, and the project need not enable CUDA as a language. ARCH, or
# CMAKE_CUDA_ARCHITECTURES, says for what.

# add_tvm_ffi_cubin(<target> CUDA <file> [ARCH <arch>...])
# add_tvm_ffi_fatbin(<target> CUDA <file> [ARCH <arch>...])
#
# Makes an image; $<TARGET_OBJECTS:<target>> is its path.
function(add_tvm_ffi_cubin target)
  _tvmffi_cubin_add_image(add_tvm_ffi_cubin "${target}" cubin ${ARGN})
endfunction()

function(add_tvm_ffi_fatbin target)
  _tvmffi_cubin_add_image(add_tvm_ffi_fatbin "${target}" fatbin ${ARGN})
endfunction()

# tvm_ffi_embed_bin_into(<target> SYMBOL <name> BIN <image>)
function(tvm_ffi_embed_bin_into target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SYMBOL;BIN" "")
  _tvmffi_cubin_check(tvm_ffi_embed_bin_into "${arg_UNPARSED_ARGUMENTS}"
                      "${arg_KEYWORDS_MISSING_VALUES}")
  if(arg_BIN MATCHES "^\\$<TARGET_OBJECTS:(.+)>$")
    set(source "${CMAKE_MATCH_1}")
    get_target_property(image "${source}" IMPORTED_OBJECTS)
    if(image)
      set(arg_BIN "${image}")
      # A rule of another folder's is none of this one's, but of that target's.
      add_dependencies("${target}" "${source}_bin")
    endif()
  endif()
  tvmffi_cubin_embed("${target}" NAME "${arg_SYMBOL}" CUBIN "${arg_BIN}")
endfunction()

function(_tvmffi_cubin_add_image function target kind)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "CUDA" "ARCH")
  _tvmffi_cubin_check("${function}" "${arg_UNPARSED_ARGUMENTS}" "${arg_KEYWORDS_MISSING_VALUES}")
  if(NOT arg_ARCH)
    foreach(arch IN LISTS CMAKE_CUDA_ARCHITECTURES)
      if(NOT arch MATCHES "^([0-9]+[af]?)(-real|-virtual)?$")
        message(FATAL_ERROR "${function}(${target}): give ARCH; CMAKE_CUDA_ARCHITECTURES has ${arch}")
      elseif(CMAKE_MATCH_2 STREQUAL "-virtual")
        list(APPEND arg_ARCH "compute_${CMAKE_MATCH_1}")
      else()
        list(APPEND arg_ARCH "sm_${CMAKE_MATCH_1}")
      endif()
    endforeach()
  endif()
  set(image "${CMAKE_CURRENT_BINARY_DIR}/${target}.${kind}")
  string(TOUPPER "${kind}" upper)
  tvmffi_cubin_compile("${image}" SOURCES "${arg_CUDA}" ARCH ${arg_ARCH} ${upper})
  add_library("${target}" OBJECT IMPORTED GLOBAL)
  set_target_properties("${target}" PROPERTIES IMPORTED_OBJECTS "${image}")
  add_custom_target("${target}_bin" ALL DEPENDS "${image}")
endfunction()
