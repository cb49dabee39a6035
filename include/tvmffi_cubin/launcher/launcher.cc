// The launcher's body as one unit, for compilers that cannot merge the objects of its parts.
#include "cold.cc"
#include "hot.cc"
