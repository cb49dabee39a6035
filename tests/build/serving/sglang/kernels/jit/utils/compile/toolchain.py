def target_flags():
    return ["-gencode=arch=compute_90a,code=sm_90a"]
