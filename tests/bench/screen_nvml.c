/* A stand-in for NVIDIA's management library: eight cards whose readings change each second. */
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define N 8
typedef struct { unsigned long long total, free, used; } mem_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } mem2_t;
typedef struct { unsigned gpu, memory; } util_t;
typedef struct { char busIdLegacy[16]; unsigned domain, bus, device, pciDeviceId, pciSubSystemId; char busId[32]; } pci_t;
static unsigned at(void *d) { return (unsigned)(size_t)d - 1; }
static unsigned now(void *d, unsigned span) { return ((unsigned)(time(0) * 31 + at(d) * 7919) * 2654435761u >> 13) % span; }
int nvmlInit_v2(void) { return 0; }
int nvmlInitWithFlags(unsigned f) { return 0; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int e) { return "not here"; }
int nvmlSystemGetDriverVersion(char *s, unsigned n) { snprintf(s, n, "550.54.15"); return 0; }
int nvmlSystemGetNVMLVersion(char *s, unsigned n) { snprintf(s, n, "12.550.54.15"); return 0; }
int nvmlSystemGetCudaDriverVersion(int *v) { *v = 12040; return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = 12040; return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = N; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { if (i >= N) return 2; *d = (void *)(size_t)(i + 1); return 0; }
int nvmlDeviceGetIndex(void *d, unsigned *i) { *i = at(d); return 0; }
int nvmlDeviceGetName(void *d, char *s, unsigned n) { snprintf(s, n, "NVIDIA A100-SXM4-80GB"); return 0; }
int nvmlDeviceGetUUID(void *d, char *s, unsigned n) { snprintf(s, n, "GPU-0000000%u-0000-0000-0000-000000000000", at(d)); return 0; }
int nvmlDeviceGetPciInfo_v3(void *d, pci_t *p) { memset(p, 0, sizeof *p); p->bus = at(d); snprintf(p->busId, 32, "00000000:0%u:00.0", at(d)); snprintf(p->busIdLegacy, 16, "0000:0%u:00.0", at(d)); return 0; }
int nvmlDeviceGetMemoryInfo(void *d, mem_t *m) { m->total = 85899345920ull; m->used = 30000000000ull + now(d, 4000) * 1000000ull; m->free = m->total - m->used; return 0; }
int nvmlDeviceGetMemoryInfo_v2(void *d, mem2_t *m) { m->total = 85899345920ull; m->reserved = 0; m->used = 30000000000ull + now(d, 4000) * 1000000ull; m->free = m->total - m->used; return 0; }
int nvmlDeviceGetUtilizationRates(void *d, util_t *u) { u->gpu = 60 + now(d, 40); u->memory = 20 + now(d, 30); return 0; }
int nvmlDeviceGetTemperature(void *d, int s, unsigned *t) { *t = 55 + now(d, 20); return 0; }
int nvmlDeviceGetPowerUsage(void *d, unsigned *p) { *p = 250000 + now(d, 100) * 1000; return 0; }
int nvmlDeviceGetEnforcedPowerLimit(void *d, unsigned *p) { *p = 400000; return 0; }
int nvmlDeviceGetPowerManagementLimit(void *d, unsigned *p) { *p = 400000; return 0; }
int nvmlDeviceGetFanSpeed(void *d, unsigned *f) { *f = 30 + now(d, 20); return 0; }
int nvmlDeviceGetPerformanceState(void *d, int *s) { *s = 0; return 0; }
int nvmlDeviceGetPersistenceMode(void *d, int *s) { *s = 1; return 0; }
int nvmlDeviceGetComputeMode(void *d, int *s) { *s = 0; return 0; }
int nvmlDeviceGetDisplayActive(void *d, int *s) { *s = 0; return 0; }
int nvmlDeviceGetDisplayMode(void *d, int *s) { *s = 0; return 0; }
int nvmlDeviceGetClockInfo(void *d, int k, unsigned *c) { *c = 1200 + now(d, 200); return 0; }
int nvmlDeviceGetMaxClockInfo(void *d, int k, unsigned *c) { *c = 1410; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, void *p) { *n = 0; return 0; }
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *d, unsigned *n, void *p) { *n = 0; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v2(void *d, unsigned *n, void *p) { *n = 0; return 0; }
int nvmlDeviceGetGraphicsRunningProcesses_v2(void *d, unsigned *n, void *p) { *n = 0; return 0; }
int nvmlDeviceGetEncoderUtilization(void *d, unsigned *u, unsigned *p) { *u = 0; *p = 1; return 0; }
int nvmlDeviceGetDecoderUtilization(void *d, unsigned *u, unsigned *p) { *u = 0; *p = 1; return 0; }
int nvmlDeviceGetProcessUtilization(void *d, void *u, unsigned *n, unsigned long long t) { *n = 0; return 0; }
int nvmlDeviceGetMigMode(void *d, unsigned *a, unsigned *b) { *a = 0; *b = 0; return 0; }
int nvmlDeviceGetTotalEccErrors(void *d, int t, int c, unsigned long long *n) { *n = 0; return 0; }
int nvmlDeviceGetBAR1MemoryInfo(void *d, mem_t *m) { m->total = 1; m->used = 0; m->free = 1; return 0; }
int nvmlDeviceGetDriverModel(void *d, unsigned *a, unsigned *b) { return 3; }
int nvmlDeviceGetDriverModel_v2(void *d, unsigned *a, unsigned *b) { return 3; }
