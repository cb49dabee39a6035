# find_package(tvmffi_cubin CONFIG REQUIRED)
#
# Found by -Dtvmffi_cubin_DIR="$(tvmffi-cubin --cmake-dir)". Gives
#   tvmffi_cubin::tvmffi_cubin  headers of this package, CUDA's and tvm-ffi's, and libtvm_ffi
#   tvmffi_cubin::compat        the same with the headers of tvm-ffi's CUBIN launcher guide, what
#                               CUDA's wheels lack, and CUDA's runtime; not beside CUDA's toolkit
#   tvmffi_cubin_compile(), tvmffi_cubin_embed()
# and, with COMPONENTS tvm_ffi_names, both under the names that tvm-ffi's own package has.
#
# What it finds comes from the Python packages beside it. tvmffi_cubin_PYTHON names the interpreter
# that has them, where it is not the one of this installation or of the environment.

if(CMAKE_VERSION VERSION_LESS 3.20)
  set(tvmffi_cubin_FOUND FALSE)
  set(tvmffi_cubin_NOT_FOUND_MESSAGE "tvmffi_cubin needs CMake 3.20, this is ${CMAKE_VERSION}")
  return()
endif()
cmake_policy(PUSH)
cmake_policy(VERSION 3.20)

set(tvmffi_cubin_TOOL "${CMAKE_CURRENT_LIST_DIR}/run_tool.py")

if(NOT tvmffi_cubin_PYTHON)
  # <prefix>/lib/python3.x/site-packages/tvmffi_cubin/cmake; a checkout has none.
  get_filename_component(_tvmffi_cubin_prefix "${CMAKE_CURRENT_LIST_DIR}/../../../../.." ABSOLUTE)
  if(Python_EXECUTABLE)
    set(_tvmffi_cubin_python "${Python_EXECUTABLE}")
  elseif(Python3_EXECUTABLE)
    set(_tvmffi_cubin_python "${Python3_EXECUTABLE}")
  elseif(CMAKE_CURRENT_LIST_DIR MATCHES "/(site|dist)-packages/tvmffi_cubin/cmake$"
         AND EXISTS "${_tvmffi_cubin_prefix}/bin/python3")
    set(_tvmffi_cubin_python "${_tvmffi_cubin_prefix}/bin/python3")
  else()
    find_package(Python3 3.10 QUIET COMPONENTS Interpreter)
    set(_tvmffi_cubin_python "${Python3_EXECUTABLE}")
  endif()
  set(tvmffi_cubin_PYTHON
      "${_tvmffi_cubin_python}"
      CACHE FILEPATH "The Python interpreter that has tvmffi_cubin's dependencies")
  unset(_tvmffi_cubin_python)
  unset(_tvmffi_cubin_prefix)
endif()

execute_process(
  COMMAND "${tvmffi_cubin_PYTHON}" "${tvmffi_cubin_TOOL}" --paths
  RESULT_VARIABLE _tvmffi_cubin_result
  OUTPUT_VARIABLE _tvmffi_cubin_paths
  ERROR_VARIABLE _tvmffi_cubin_error
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT _tvmffi_cubin_result EQUAL 0)
  set(tvmffi_cubin_FOUND FALSE)
  string(
    CONCAT tvmffi_cubin_NOT_FOUND_MESSAGE
           "${tvmffi_cubin_PYTHON} cannot run tvmffi_cubin: ${_tvmffi_cubin_error}\n"
           "Set tvmffi_cubin_PYTHON to the interpreter that it is installed for, or "
           "pip install tvmffi-cubin")
  unset(tvmffi_cubin_PYTHON CACHE)
  cmake_policy(POP)
  return()
endif()
string(REPLACE "\n" ";" _tvmffi_cubin_paths "${_tvmffi_cubin_paths}")
list(POP_FRONT _tvmffi_cubin_paths _tvmffi_cubin_include _tvmffi_cubin_tvm_ffi
     _tvmffi_cubin_library _tvmffi_cubin_cudart)
# What is left are CUDA's header folders.

if(NOT TARGET tvmffi_cubin::tvmffi_cubin)
  add_library(tvmffi_cubin::tvmffi_cubin INTERFACE IMPORTED)
  set_target_properties(
    tvmffi_cubin::tvmffi_cubin
    PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
               "${_tvmffi_cubin_include};${_tvmffi_cubin_tvm_ffi};${_tvmffi_cubin_paths}"
               INTERFACE_LINK_LIBRARIES "${_tvmffi_cubin_library};${CMAKE_DL_LIBS}"
               INTERFACE_COMPILE_FEATURES cxx_std_17)
  add_library(tvmffi_cubin::compat INTERFACE IMPORTED)
  # Its headers include those that they stand for: it comes before what it links.
  set_target_properties(
    tvmffi_cubin::compat
    PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${_tvmffi_cubin_include}/tvmffi_cubin/compat"
               INTERFACE_LINK_LIBRARIES
               "tvmffi_cubin::tvmffi_cubin;${_tvmffi_cubin_cudart};rt;pthread")
endif()

unset(_tvmffi_cubin_result)
unset(_tvmffi_cubin_error)
unset(_tvmffi_cubin_paths)
unset(_tvmffi_cubin_include)
unset(_tvmffi_cubin_tvm_ffi)
unset(_tvmffi_cubin_library)
unset(_tvmffi_cubin_cudart)

include("${CMAKE_CURRENT_LIST_DIR}/tvmffi_cubin-functions.cmake")
if("tvm_ffi_names" IN_LIST tvmffi_cubin_FIND_COMPONENTS)
  include("${CMAKE_CURRENT_LIST_DIR}/tvmffi_cubin-tvm_ffi_names.cmake")
  set(tvmffi_cubin_tvm_ffi_names_FOUND TRUE)
endif()
foreach(_tvmffi_cubin_component IN LISTS tvmffi_cubin_FIND_COMPONENTS)
  if(tvmffi_cubin_FIND_REQUIRED_${_tvmffi_cubin_component}
     AND NOT tvmffi_cubin_${_tvmffi_cubin_component}_FOUND)
    set(tvmffi_cubin_FOUND FALSE)
    set(tvmffi_cubin_NOT_FOUND_MESSAGE
        "tvmffi_cubin has no component ${_tvmffi_cubin_component}, only tvm_ffi_names")
  endif()
endforeach()
unset(_tvmffi_cubin_component)
cmake_policy(POP)
