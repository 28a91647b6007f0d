/* Finds the functions to which the hooks pass calls on, and decides which calls are hooked. */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>

#include "wireproof/front/verbs/hooks/hooks.h"

/* In the memory that each thread has from its start, because a hook may run in a signal handler. */
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

any_function next_function(_Atomic any_function* known, const char* name) {
    any_function next = atomic_load_explicit(known, memory_order_relaxed);
    if (next == NULL) {
        next = (any_function)(uintptr_t)dlsym(RTLD_NEXT, name);
        atomic_store_explicit(known, next, memory_order_relaxed);
    }
    return next;
}

/* Whether the program lets this thread be cancelled. */
static _Thread_local int cancel_state __attribute__((tls_model("initial-exec")));

bool enter(void) {
    if (inside || getauxval(AT_SECURE) != 0) return false;
    inside = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    return true;
}

void let_cancel(void) {
    pthread_setcancelstate(cancel_state, NULL);
}

void leave(void) {
    inside = false;
    let_cancel();
}

any_function device_function(const char* name) {
    const int before = errno;
    /* Only a module that the program loaded may know the drop-in, so look for it by its name. */
    void* const library = dlopen("libibverbs.so.1", RTLD_NOLOAD | RTLD_LAZY);
    void* found = NULL;
    if (library != NULL) {
        found = dlsym(library, name);
        dlclose(library); /* it is never unloaded */
    }
    if (found == NULL) found = dlsym(RTLD_DEFAULT, name);
    errno = before;
    return (any_function)(uintptr_t)found;
}
