/* A stand-in for libnvidia-ml.so.1: shows the GPUs that a scene file describes, to whoever speaks NVML.
 *
 * BANCADA_SCENE names the file; it is read again when it changes. Its lines:
 *   gpus COUNT MODEL...            how many cards, and their name
 *   gpu INDEX WORD VALUE ...       util memory(MiB) total(MiB) power(W) limit(W) temp sm mem throttle(bits) ecc dbe
 *                                  xid lost hang(seconds a call takes) mig(slices) back(1: counters go back) remap
 *   process INDEX PID MIB [SLICE]  a process on a card
 * util "wave" goes up and down; what is not said is what an idle card shows.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CARDS = 16, SLICES = 16, PROCESSES = 64, FIELDS = 16 };
enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT = 7, DRIVER_NOT_LOADED = 9, TIMEOUT = 10, LOST = 15 };

struct process { unsigned gpu, pid, mib, slice; };
struct card {
  int index, slice; /* slice -1: the card itself */
  double util, memory, total, power, limit, temp, sm, mem;
  unsigned long long throttle, ecc, dbe, xid, remap;
  double hang;
  int lost, mig, back, wave;
};
struct field { unsigned id, scope; long long stamp, latency; unsigned type; int ret; union { double d; unsigned u; unsigned long long ull; } value; };
struct event { void *device; unsigned long long type, data; unsigned gpu_instance, compute_instance; };
struct info { unsigned pid; unsigned long long memory; unsigned gpu_instance, compute_instance; };

static struct card cards[CARDS], slices[CARDS][SLICES];
static struct process processes[PROCESSES];
static int count, used;
static char model[96] = "NVIDIA A100 (simulated)";
static unsigned long long told[CARDS]; /* the Xid each card's event has been given for */
static struct timespec read_at;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void idle(struct card *card, int index, int slice) {
  memset(card, 0, sizeof *card);
  card->index = index; card->slice = slice;
  card->total = 40960; card->limit = 400; card->power = 55; card->temp = 31; card->sm = 210; card->mem = 1215;
}

static void set(struct card *card, const char *word, const char *value) {
  double number = atof(value);
  if (!strcmp(word, "util")) { card->wave = !strcmp(value, "wave"); card->util = number; }
  else if (!strcmp(word, "memory")) card->memory = number;
  else if (!strcmp(word, "total")) card->total = number;
  else if (!strcmp(word, "power")) card->power = number;
  else if (!strcmp(word, "limit")) card->limit = number;
  else if (!strcmp(word, "temp")) card->temp = number;
  else if (!strcmp(word, "sm")) card->sm = number;
  else if (!strcmp(word, "mem")) card->mem = number;
  else if (!strcmp(word, "throttle")) card->throttle = strtoull(value, NULL, 0);
  else if (!strcmp(word, "ecc")) card->ecc = strtoull(value, NULL, 0);
  else if (!strcmp(word, "dbe")) card->dbe = strtoull(value, NULL, 0);
  else if (!strcmp(word, "xid")) card->xid = strtoull(value, NULL, 0);
  else if (!strcmp(word, "remap")) card->remap = strtoull(value, NULL, 0);
  else if (!strcmp(word, "hang")) card->hang = number;
  else if (!strcmp(word, "lost")) card->lost = number != 0;
  else if (!strcmp(word, "mig")) card->mig = (int)number;
  else if (!strcmp(word, "back")) card->back = number != 0;
}

static void line(char *text) {
  char *rest = text, *word = strsep(&rest, " "), *value;
  if (!strcmp(word, "gpus") && rest) {
    count = atoi(strsep(&rest, " "));
    if (count > CARDS) count = CARDS;
    if (rest && *rest) snprintf(model, sizeof model, "%s", rest);
  } else if (!strcmp(word, "gpu") && rest) {
    int index = atoi(strsep(&rest, " "));
    if (index < 0 || index >= CARDS) return;
    while ((word = strsep(&rest, " ")) && (value = strsep(&rest, " "))) set(&cards[index], word, value);
  } else if (!strcmp(word, "process") && used < PROCESSES) {
    struct process *one = &processes[used];
    one->slice = 0xffffffff;
    if (rest && sscanf(rest, "%u %u %u %u", &one->gpu, &one->pid, &one->mib, &one->slice) >= 3) used++;
  }
}

/* Read the scene where it changed. Called with the lock held. */
static void scene(void) {
  const char *path = getenv("BANCADA_SCENE");
  struct stat now;
  char text[512];
  if (!path || stat(path, &now)) return;
  if (now.st_mtim.tv_sec == read_at.tv_sec && now.st_mtim.tv_nsec == read_at.tv_nsec) return;
  FILE *file = fopen(path, "r");
  if (!file) return;
  read_at = now.st_mtim;
  used = 0;
  for (int i = 0; i < CARDS; i++) {
    idle(&cards[i], i, -1);
    for (int s = 0; s < SLICES; s++) idle(&slices[i][s], i, s);
  }
  while (fgets(text, sizeof text, file)) { text[strcspn(text, "\n")] = 0; line(text); }
  fclose(file);
}

static double now(void) {
  struct timespec clock;
  clock_gettime(CLOCK_MONOTONIC, &clock);
  return clock.tv_sec + clock.tv_nsec / 1e9;
}

static double level(struct card *card) { return card->wave ? 88 + 10 * sin(now() / 7 + card->index) : card->util; }

/* The card behind a handle as it is now; its error, if it has one. A card that hangs hangs here. */
static int look(void *handle, struct card *copy) {
  struct card *card = handle;
  if (!card) return NOT_FOUND;
  pthread_mutex_lock(&lock);
  scene();
  *copy = *card;
  struct card whole = cards[card->index];
  pthread_mutex_unlock(&lock);
  if (whole.hang > 0) usleep((useconds_t)(whole.hang * 1e6));
  return whole.lost ? LOST : OK;
}

int nvmlInitWithFlags(unsigned flags) {
  (void)flags;
  pthread_mutex_lock(&lock);
  scene();
  int found = count;
  pthread_mutex_unlock(&lock);
  return found ? OK : DRIVER_NOT_LOADED;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) {
  return code == LOST ? "GPU is lost" : code == DRIVER_NOT_LOADED ? "Driver Not Loaded" : "simulated error";
}
int nvmlSystemGetDriverVersion(char *text, unsigned size) { snprintf(text, size, "1.0-simulated"); return OK; }
int nvmlDeviceGetCount_v2(unsigned *found) { *found = count; return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
  if ((int)index >= count) return NOT_FOUND;
  if (cards[index].lost) return LOST;
  *handle = &cards[index];
  return OK;
}
int nvmlDeviceGetIndex(void *handle, unsigned *index) { *index = ((struct card *)handle)->index; return OK; }
int nvmlDeviceGetUUID(void *handle, char *text, unsigned size) {
  struct card *card = handle;
  if (card->slice < 0) snprintf(text, size, "GPU-00000000-0000-0000-0000-%012d", card->index);
  else snprintf(text, size, "MIG-00000000-0000-0000-%04d-%012d", card->slice, card->index);
  return OK;
}
int nvmlDeviceGetName(void *handle, char *text, unsigned size) { (void)handle; snprintf(text, size, "%s", model); return OK; }

int nvmlDeviceGetUtilizationRates(void *handle, unsigned *rates) {
  struct card card;
  int ret = look(handle, &card);
  if (!ret && (card.mig || card.slice >= 0)) return NOT_SUPPORTED;
  rates[0] = level(&card);
  rates[1] = level(&card) * 0.6;
  return ret;
}
int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long *memory) {
  struct card card;
  int ret = look(handle, &card);
  double total = card.slice < 0 ? card.total : card.total / 8, busy = card.memory;
  for (int i = 0; card.slice >= 0 && i < used; i++)
    if ((int)processes[i].gpu == card.index && (int)processes[i].slice == card.slice) busy += processes[i].mib;
  memory[0] = total * 1048576; memory[2] = busy * 1048576; memory[1] = memory[0] - memory[2];
  return ret;
}
int nvmlDeviceGetClockInfo(void *handle, unsigned type, unsigned *mhz) {
  struct card card;
  int ret = look(handle, &card);
  *mhz = type == 2 ? card.mem : card.sm;
  return ret;
}
int nvmlDeviceGetTemperature(void *handle, unsigned sensor, unsigned *degrees) {
  struct card card;
  int ret = look(handle, &card);
  (void)sensor;
  *degrees = card.temp;
  return ret;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *handle, unsigned long long *bits) {
  struct card card;
  int ret = look(handle, &card);
  *bits = card.throttle;
  return ret;
}
int nvmlDeviceGetPowerUsage(void *handle, unsigned *milliwatts) {
  struct card card;
  int ret = look(handle, &card);
  *milliwatts = card.power * 1000;
  return ret;
}
int nvmlDeviceGetEnforcedPowerLimit(void *handle, unsigned *milliwatts) {
  struct card card;
  int ret = look(handle, &card);
  *milliwatts = card.limit * 1000;
  return ret;
}

static void fill(struct field *field, struct card *card) {
  double busy = level(card) / 100, grown = (card->back ? 1000000 - now() : now());
  field->ret = OK;
  field->type = 3;
  switch (field->id) {
    case 3: field->value.ull = card->ecc; return;
    case 4: field->value.ull = card->dbe; return;
    case 82: field->type = 1; field->value.u = card->temp + 8; return;
    case 83: field->value.ull = grown * card->power * 1000; return;
    case 138: case 139: field->value.ull = grown * 2e6; return; /* KiB */
    case 144: field->type = 1; field->value.u = 0; return;
    case 145: field->type = 1; field->value.u = card->remap; return;
    case 186: field->type = 1; field->value.u = (card->wave ? 250 + 150 * busy : card->power) * 1000; return;
    case 197: case 198: field->value.ull = grown * 3e8; return;
    default: field->ret = NOT_SUPPORTED;
  }
}
int nvmlDeviceGetFieldValues(void *handle, int number, struct field *fields) {
  struct card card;
  int ret = look(handle, &card);
  for (int i = 0; !ret && i < number; i++) fill(&fields[i], &card);
  return ret;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *number, struct info *list) {
  struct card card;
  int ret = look(handle, &card);
  unsigned found = 0, room = *number;
  for (int i = 0; !ret && i < used; i++) {
    if ((int)processes[i].gpu != card.index) continue;
    if (list && found < room) {
      list[found].pid = processes[i].pid;
      list[found].memory = processes[i].mib * 1048576ull;
      list[found].gpu_instance = processes[i].slice;
      list[found].compute_instance = 0xffffffff;
    }
    found++;
  }
  *number = found;
  return ret ? ret : found > room || (!list && found) ? INSUFFICIENT : OK;
}

int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending) {
  struct card card;
  int ret = look(handle, &card);
  *current = *pending = card.mig > 0;
  return ret;
}
int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *most) { (void)handle; *most = SLICES; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned number, void **slice) {
  struct card card;
  int ret = look(handle, &card);
  if (ret || (int)number >= card.mig) return ret ? ret : NOT_FOUND;
  *slice = &slices[card.index][number];
  return OK;
}
int nvmlDeviceGetGpuInstanceId(void *handle, unsigned *id) { *id = ((struct card *)handle)->slice; return OK; }

int nvmlEventSetCreate(void **set) { *set = &lock; return OK; }
int nvmlDeviceRegisterEvents(void *handle, unsigned long long types, void *set) {
  (void)handle; (void)types; (void)set;
  return OK;
}
int nvmlEventSetWait_v2(void *set, struct event *event, unsigned milliseconds) {
  (void)set; (void)milliseconds;
  pthread_mutex_lock(&lock);
  scene();
  int found = -1;
  for (int i = 0; i < count && found < 0; i++) {
    if (!cards[i].xid) told[i] = 0;
    else if (told[i] != cards[i].xid) found = i;
  }
  if (found >= 0) {
    told[found] = cards[found].xid;
    memset(event, 0, sizeof *event);
    event->device = &cards[found];
    event->type = 8;
    event->data = cards[found].xid;
  }
  pthread_mutex_unlock(&lock);
  return found < 0 ? TIMEOUT : OK;
}
