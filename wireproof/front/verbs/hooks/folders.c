/* The folders of the device, for programs that list them. */
#include <dirent.h>
#include <string.h>

#include "wireproof/front/verbs/hooks/hooks.h"

/* The object that a program has as its DIR for such a folder. */
struct folder {
    atomic_bool is_open;
    char path[PATH_ROOM];
    size_t next;
    struct dirent entry;
};
enum { FOLDERS = 32 };
static struct folder folders[FOLDERS];

static struct folder* folder_of(DIR* stream) {
    const uintptr_t at = (uintptr_t)stream;
    const uintptr_t first = (uintptr_t)folders;
    return at >= first && at < first + sizeof folders ? (struct folder*)at : NULL;
}

HOOK DIR* opendir(const char* path) {
    char simple[PATH_ROOM];
    if (!find_folder(path, simple)) return NEXT(opendir)(path);
    for (struct folder* one = folders; one < folders + FOLDERS; ++one) {
        if (atomic_exchange(&one->is_open, true)) continue;
        strcpy(one->path, simple);
        one->next = 0;
        return (DIR*)one;
    }
    errno = EMFILE;
    return NULL;
}

HOOK int closedir(DIR* stream) {
    struct folder* const folder = folder_of(stream);
    if (folder == NULL) return NEXT(closedir)(stream);
    folder->is_open = false;
    return 0;
}

static struct dirent* next_entry(struct folder* folder) {
    struct dirent* const entry = &folder->entry;
    char name[PATH_ROOM];
    bool is_a_folder = true;
    const size_t dots = 2;
    memset(entry, 0, sizeof *entry);
    if (folder->next < dots) {
        strcpy(entry->d_name, folder->next == 0 ? "." : "..");
    } else {
        if (!name_in_folder(folder->path, folder->next - dots, name, &is_a_folder)) return NULL;
        strcpy(entry->d_name, name);
    }
    entry->d_ino = ++folder->next;
    entry->d_off = (off_t)folder->next;
    entry->d_reclen = sizeof *entry;
    entry->d_type = is_a_folder ? DT_DIR : DT_UNKNOWN;
    return entry;
}

HOOK struct dirent* readdir(DIR* stream) {
    struct folder* const folder = folder_of(stream);
    return folder == NULL ? NEXT(readdir)(stream) : next_entry(folder);
}

/* On machines of 64 bits the two structures are the same. */
HOOK struct dirent64* readdir64(DIR* stream) {
    struct folder* const folder = folder_of(stream);
    return folder == NULL ? NEXT(readdir64)(stream) : (struct dirent64*)next_entry(folder);
}

HOOK void rewinddir(DIR* stream) {
    struct folder* const folder = folder_of(stream);
    if (folder == NULL) {
        NEXT(rewinddir)(stream);
    } else {
        folder->next = 0;
    }
}

HOOK int dirfd(DIR* stream) {
    if (folder_of(stream) == NULL) return NEXT(dirfd)(stream);
    errno = ENOTSUP;
    return -1;
}
