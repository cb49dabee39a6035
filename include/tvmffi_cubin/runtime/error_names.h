/*!
 * \file tvmffi_cubin/runtime/error_names.h
 * \brief The names of cudaError_t, which the driver cannot tell: it has its own.
 */
#ifndef TVMFFI_CUBIN_RUNTIME_ERROR_NAMES_H_
#define TVMFFI_CUBIN_RUNTIME_ERROR_NAMES_H_

/*! \brief Those that every CUDA from 12.6 on declares, less their prefix cudaError. */
#define TVMFFI_CUBIN_RUNTIME_ERRORS(V) \
  V(InvalidValue) V(MemoryAllocation) V(InitializationError) V(CudartUnloading) \
  V(ProfilerDisabled) V(ProfilerNotInitialized) V(ProfilerAlreadyStarted) \
  V(ProfilerAlreadyStopped) V(InvalidConfiguration) V(InvalidPitchValue) V(InvalidSymbol) \
  V(InvalidHostPointer) V(InvalidDevicePointer) V(InvalidTexture) V(InvalidTextureBinding) \
  V(InvalidChannelDescriptor) V(InvalidMemcpyDirection) V(AddressOfConstant) \
  V(TextureFetchFailed) V(TextureNotBound) V(SynchronizationError) V(InvalidFilterSetting) \
  V(InvalidNormSetting) V(MixedDeviceExecution) V(NotYetImplemented) V(MemoryValueTooLarge) \
  V(StubLibrary) V(InsufficientDriver) V(CallRequiresNewerDriver) V(InvalidSurface) \
  V(DuplicateVariableName) V(DuplicateTextureName) V(DuplicateSurfaceName) V(DevicesUnavailable) \
  V(IncompatibleDriverContext) V(MissingConfiguration) V(PriorLaunchFailure) \
  V(LaunchMaxDepthExceeded) V(LaunchFileScopedTex) V(LaunchFileScopedSurf) V(SyncDepthExceeded) \
  V(LaunchPendingCountExceeded) V(InvalidDeviceFunction) V(NoDevice) V(InvalidDevice) \
  V(DeviceNotLicensed) V(SoftwareValidityNotEstablished) V(StartupFailure) V(InvalidKernelImage) \
  V(DeviceUninitialized) V(MapBufferObjectFailed) V(UnmapBufferObjectFailed) V(ArrayIsMapped) \
  V(AlreadyMapped) V(NoKernelImageForDevice) V(AlreadyAcquired) V(NotMapped) V(NotMappedAsArray) \
  V(NotMappedAsPointer) V(ECCUncorrectable) V(UnsupportedLimit) V(DeviceAlreadyInUse) \
  V(PeerAccessUnsupported) V(InvalidPtx) V(InvalidGraphicsContext) V(NvlinkUncorrectable) \
  V(JitCompilerNotFound) V(UnsupportedPtxVersion) V(JitCompilationDisabled) \
  V(UnsupportedExecAffinity) V(UnsupportedDevSideSync) V(InvalidSource) V(FileNotFound) \
  V(SharedObjectSymbolNotFound) V(SharedObjectInitFailed) V(OperatingSystem) \
  V(InvalidResourceHandle) V(IllegalState) V(LossyQuery) V(SymbolNotFound) V(NotReady) \
  V(IllegalAddress) V(LaunchOutOfResources) V(LaunchTimeout) V(LaunchIncompatibleTexturing) \
  V(PeerAccessAlreadyEnabled) V(PeerAccessNotEnabled) V(SetOnActiveProcess) V(ContextIsDestroyed) \
  V(Assert) V(TooManyPeers) V(HostMemoryAlreadyRegistered) V(HostMemoryNotRegistered) \
  V(HardwareStackError) V(IllegalInstruction) V(MisalignedAddress) V(InvalidAddressSpace) \
  V(InvalidPc) V(LaunchFailure) V(CooperativeLaunchTooLarge) V(NotPermitted) V(NotSupported) \
  V(SystemNotReady) V(SystemDriverMismatch) V(CompatNotSupportedOnDevice) V(MpsConnectionFailed) \
  V(MpsRpcFailure) V(MpsServerNotReady) V(MpsMaxClientsReached) V(MpsMaxConnectionsReached) \
  V(MpsClientTerminated) V(CdpNotSupported) V(CdpVersionMismatch) V(StreamCaptureUnsupported) \
  V(StreamCaptureInvalidated) V(StreamCaptureMerge) V(StreamCaptureUnmatched) \
  V(StreamCaptureUnjoined) V(StreamCaptureIsolation) V(StreamCaptureImplicit) V(CapturedEvent) \
  V(StreamCaptureWrongThread) V(Timeout) V(GraphExecUpdateFailure) V(ExternalDevice) \
  V(InvalidClusterSize) V(FunctionNotLoaded) V(InvalidResourceType) \
  V(InvalidResourceConfiguration) V(Unknown) V(ApiFailureBase)

#endif  // TVMFFI_CUBIN_RUNTIME_ERROR_NAMES_H_
