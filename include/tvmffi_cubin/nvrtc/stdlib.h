// malloc and free are NVRTC's own.
#pragma once

#ifndef RAND_MAX
#define RAND_MAX 2147483647
#endif
