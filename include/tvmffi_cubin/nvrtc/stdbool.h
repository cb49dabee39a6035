// bool is C++'s own.
