// The functions of mathematics for numbers of two types and for integers, as the host's <cmath> has
// them; NVRTC's own take floats or doubles.
#ifndef TVMFFI_CUBIN_NVRTC_MATH_PROMOTIONS_H_
#define TVMFFI_CUBIN_NVRTC_MATH_PROMOTIONS_H_

// What a number is computed as. Nothing else has a type here: classes convert as ever.
template <class T>
struct __tvmffi_cubin_promoted {};
template <>
struct __tvmffi_cubin_promoted<float> {
  using type = float;
};
template <class T>
struct __tvmffi_cubin_integer {};
#define TVMFFI_CUBIN_PROMOTED(T)     \
  template <>                        \
  struct __tvmffi_cubin_integer<T> { \
    using type = double;             \
    using answer = bool;             \
  };                                 \
  template <>                        \
  struct __tvmffi_cubin_promoted<T> : __tvmffi_cubin_integer<T> {};
TVMFFI_CUBIN_PROMOTED(bool)
TVMFFI_CUBIN_PROMOTED(char)
TVMFFI_CUBIN_PROMOTED(signed char)
TVMFFI_CUBIN_PROMOTED(unsigned char)
TVMFFI_CUBIN_PROMOTED(short)
TVMFFI_CUBIN_PROMOTED(unsigned short)
TVMFFI_CUBIN_PROMOTED(int)
TVMFFI_CUBIN_PROMOTED(unsigned int)
TVMFFI_CUBIN_PROMOTED(long)
TVMFFI_CUBIN_PROMOTED(unsigned long)
TVMFFI_CUBIN_PROMOTED(long long)
TVMFFI_CUBIN_PROMOTED(unsigned long long)
#undef TVMFFI_CUBIN_PROMOTED
template <>
struct __tvmffi_cubin_promoted<double> {
  using type = double;
};

template <class T, class U>
using __tvmffi_cubin_promoted_2 = decltype(typename __tvmffi_cubin_promoted<T>::type() +
                                           typename __tvmffi_cubin_promoted<U>::type());

#define TVMFFI_CUBIN_MATH(name)                                                   \
  template <class T>                                                              \
  __host__ __device__ inline typename __tvmffi_cubin_integer<T>::type name(T x) { \
    return name(static_cast<double>(x));                                          \
  }
TVMFFI_CUBIN_MATH(acos)
TVMFFI_CUBIN_MATH(acosh)
TVMFFI_CUBIN_MATH(asin)
TVMFFI_CUBIN_MATH(asinh)
TVMFFI_CUBIN_MATH(atan)
TVMFFI_CUBIN_MATH(atanh)
TVMFFI_CUBIN_MATH(cbrt)
TVMFFI_CUBIN_MATH(ceil)
TVMFFI_CUBIN_MATH(cos)
TVMFFI_CUBIN_MATH(cosh)
TVMFFI_CUBIN_MATH(erf)
TVMFFI_CUBIN_MATH(erfc)
TVMFFI_CUBIN_MATH(exp)
TVMFFI_CUBIN_MATH(exp2)
TVMFFI_CUBIN_MATH(expm1)
TVMFFI_CUBIN_MATH(fabs)
TVMFFI_CUBIN_MATH(floor)
TVMFFI_CUBIN_MATH(lgamma)
TVMFFI_CUBIN_MATH(log)
TVMFFI_CUBIN_MATH(log10)
TVMFFI_CUBIN_MATH(log1p)
TVMFFI_CUBIN_MATH(log2)
TVMFFI_CUBIN_MATH(logb)
TVMFFI_CUBIN_MATH(nearbyint)
TVMFFI_CUBIN_MATH(rint)
TVMFFI_CUBIN_MATH(round)
TVMFFI_CUBIN_MATH(sin)
TVMFFI_CUBIN_MATH(sinh)
TVMFFI_CUBIN_MATH(sqrt)
TVMFFI_CUBIN_MATH(tan)
TVMFFI_CUBIN_MATH(tanh)
TVMFFI_CUBIN_MATH(tgamma)
TVMFFI_CUBIN_MATH(trunc)
#undef TVMFFI_CUBIN_MATH

#define TVMFFI_CUBIN_MATH(name)                                               \
  template <class T, class U>                                                 \
  __host__ __device__ inline __tvmffi_cubin_promoted_2<T, U> name(T x, U y) { \
    using Both = __tvmffi_cubin_promoted_2<T, U>;                             \
    return name(static_cast<Both>(x), static_cast<Both>(y));                  \
  }
TVMFFI_CUBIN_MATH(atan2)
TVMFFI_CUBIN_MATH(copysign)
TVMFFI_CUBIN_MATH(fdim)
TVMFFI_CUBIN_MATH(fmax)
TVMFFI_CUBIN_MATH(fmin)
TVMFFI_CUBIN_MATH(fmod)
TVMFFI_CUBIN_MATH(hypot)
TVMFFI_CUBIN_MATH(nextafter)
TVMFFI_CUBIN_MATH(pow)
TVMFFI_CUBIN_MATH(remainder)
#undef TVMFFI_CUBIN_MATH

template <class T, class U, class V>
__host__ __device__ inline __tvmffi_cubin_promoted_2<__tvmffi_cubin_promoted_2<T, U>, V> fma(T x,
                                                                                             U y,
                                                                                             V z) {
  using All = __tvmffi_cubin_promoted_2<__tvmffi_cubin_promoted_2<T, U>, V>;
  return fma(static_cast<All>(x), static_cast<All>(y), static_cast<All>(z));
}

#define TVMFFI_CUBIN_MATH(name, told)                                               \
  template <class T>                                                                \
  __host__ __device__ inline typename __tvmffi_cubin_integer<T>::answer name(T x) { \
    return told;                                                                    \
  }
TVMFFI_CUBIN_MATH(isfinite, true)
TVMFFI_CUBIN_MATH(isinf, false)
TVMFFI_CUBIN_MATH(isnan, false)
TVMFFI_CUBIN_MATH(signbit, x < T(0))
#undef TVMFFI_CUBIN_MATH

#endif  // TVMFFI_CUBIN_NVRTC_MATH_PROMOTIONS_H_
