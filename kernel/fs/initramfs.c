/* SPDX-License-Identifier: MIT
 *
 * initramfs.c: the read-only file tree: a cpio archive ("newc", magic 070701 or 070702), parsed in
 * place.
 *
 * One inode per entry, made at boot, in a list; names and data stay in the archive. The archive
 * comes from outside: every length is checked against what is left. Nothing is ever changed or
 * freed, so lookups take no lock.
 */
#include <kernel/errno.h>
#include <kernel/file.h>
#include <kernel/machine.h>
#include <kernel/mm.h>
#include <kernel/mmu.h>
#include <kernel/page.h>
#include <kernel/printk.h>
#include <kernel/string.h>

#define HEADER_BYTES 110u
#define FIELD(n)     (6u + 8u * (n)) /* fields of eight hex digits after the magic */
#define FIELD_MODE   FIELD(1)
#define FIELD_SIZE   FIELD(6)
#define FIELD_NAME   FIELD(11)
#define LINKS_MAX    8u
#define PATH_BYTES   1024u

static struct inode *inodes;
static struct inode root = {.path = "", .mode = S_IFDIR | 0755};

/* Eight hex digits; false: they are not. */
static bool read_hex(const u8 *at, u32 *value)
{
	*value = 0;
	for (u32 i = 0; i < 8; i++) {
		u8 c = at[i];
		u32 digit;

		if (c >= '0' && c <= '9')
			digit = (u32)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			digit = (u32)((c | 32) - 'a') + 10;
		else
			return false;
		*value = *value << 4 | digit;
	}
	return true;
}

/* One entry at `at`; its length with padding, 0 at the end of the archive or at rubbish. */
static u64 parse_entry(const u8 *at, u64 left, struct inode *inode)
{
	u32 mode, size, name_size;
	u64 data;

	if (left < HEADER_BYTES || (memcmp(at, "070701", 6) != 0 && memcmp(at, "070702", 6) != 0))
		return 0;
	if (!read_hex(at + FIELD_MODE, &mode) || !read_hex(at + FIELD_SIZE, &size) ||
		!read_hex(at + FIELD_NAME, &name_size) || name_size == 0)
		return 0;
	data = ALIGN_UP(HEADER_BYTES + (u64)name_size, 4);
	if (data > left || size > left - data || at[HEADER_BYTES + name_size - 1] != '\0')
		return 0;
	inode->path = (const char *)at + HEADER_BYTES;
	while (inode->path[0] == '/' || (inode->path[0] == '.' && inode->path[1] == '/'))
		inode->path++;
	inode->mode = mode;
	inode->size = size;
	inode->data = at + data;
	return MIN(ALIGN_UP(data + size, 4), left);
}

void initramfs_init(void)
{
	const u8 *at = phys_to_virt(machine.initrd.start);
	u64 left = machine.initrd.size;
	struct inode **tail = &inodes;
	u32 count = 0;

	while (left > 0) {
		struct inode entry = {0};
		struct inode *inode;
		u64 n = parse_entry(at, left, &entry);

		if (n == 0 || strcmp(entry.path, "TRAILER!!!") == 0)
			break;
		at += n;
		left -= n;
		if (entry.path[0] == '\0' || strcmp(entry.path, ".") == 0)
			continue;
		inode = kmalloc(sizeof(*inode));
		KASSERT(inode != NULL);
		*inode = entry;
		*tail = inode;
		tail = &inode->next;
		count++;
	}
	printk("tally: initramfs: %u entries\n", count);
}

static const struct inode *find_plain(const char *path)
{
	if (*path == '\0')
		return &root;
	for (const struct inode *inode = inodes; inode != NULL; inode = inode->next)
		if (strcmp(inode->path, path) == 0)
			return inode;
	return NULL;
}

/* `path` without "//", "." and "..", and without slashes at its ends. false: too long. */
static bool normalise(const char *path, char *to, size_t size)
{
	size_t n = 0;

	while (*path != '\0') {
		size_t len = 0;

		while (*path == '/')
			path++;
		while (path[len] != '\0' && path[len] != '/')
			len++;
		if (len == 2 && path[0] == '.' && path[1] == '.') {
			while (n > 0 && to[--n] != '/')
				;
		} else if (len > 0 && !(len == 1 && path[0] == '.')) {
			if (n + len + 2 > size)
				return false;
			if (n > 0)
				to[n++] = '/';
			memcpy(to + n, path, len);
			n += len;
		}
		path += len;
	}
	to[n] = '\0';
	return true;
}

/* A last component that is a symbolic link is followed; links on the way to it are not (none are
 * needed yet). */
const struct inode *initramfs_find(const char *path)
{
	char plain[PATH_BYTES], next[PATH_BYTES];
	const struct inode *inode;

	if (!normalise(path, plain, sizeof(plain)))
		return NULL;
	inode = find_plain(plain);
	for (u32 i = 0; i < LINKS_MAX && inode != NULL && (inode->mode & S_IFMT) == S_IFLNK; i++) {
		char *slash = strrchr(plain, '/');
		size_t dir = inode->data[0] == '/' || slash == NULL ? 0
								    : (size_t)(slash - plain) + 1;

		if (dir + inode->size + 1 > sizeof(plain))
			return NULL;
		memcpy(next, plain, dir);
		memcpy(next + dir, inode->data, inode->size);
		next[dir + inode->size] = '\0';
		if (!normalise(next, plain, sizeof(plain)))
			return NULL;
		inode = find_plain(plain);
	}
	return inode;
}

static s64 initramfs_read(struct file *file, u64 buffer, u64 size)
{
	const struct inode *inode = file->object;
	u64 n = 0;

	if ((inode->mode & S_IFMT) == S_IFDIR)
		return -EISDIR;
	mutex_lock(&file->lock);
	if (file->position < inode->size) {
		n = MIN(size, inode->size - file->position);
		if (copy_to_user(buffer, inode->data + file->position, n) != 0) {
			mutex_unlock(&file->lock);
			return -EFAULT;
		}
		file->position += n;
	}
	mutex_unlock(&file->lock);
	return (s64)n;
}

/* Private mappings: each gets pages of its own, filled from the archive, which is not page-aligned.
 */
static int area_page(struct area *area, u64 index, struct page **page)
{
	const struct inode *inode = area->object;
	u64 at = index << PAGE_SHIFT;

	if (at >= ALIGN_UP(inode->size, PAGE_SIZE))
		return -EIO;
	*page = page_alloc_zeroed(0);
	if (*page == NULL)
		return -ENOMEM;
	memcpy(page_va(*page), inode->data + at, MIN((u64)PAGE_SIZE, inode->size - at));
	return 0;
}

static const struct area_ops area_ops = {.page = area_page};

static int initramfs_mmap(struct file *file, struct area_request *request)
{
	const struct inode *inode = file->object;

	if ((inode->mode & S_IFMT) != S_IFREG)
		return -ENODEV;
	if ((request->flags & AREA_SHARED) && (request->prot & PROT_WRITE))
		return -EACCES;
	request->flags &= ~(u32)AREA_SHARED; /* read-only: no difference */
	request->ops = &area_ops;
	request->file = file;
	request->object = file->object;
	return 0;
}

static const struct file_ops initramfs_ops = {
	.name = "initramfs",
	.read = initramfs_read,
	.mmap = initramfs_mmap,
};

int initramfs_open(const char *path, u32 flags, struct file **file)
{
	const struct inode *inode = initramfs_find(path);

	if (inode == NULL)
		return flags & O_CREAT ? -EROFS : -ENOENT;
	if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC))
		return (inode->mode & S_IFMT) == S_IFDIR ? -EISDIR : -EROFS;
	if ((flags & O_DIRECTORY) && (inode->mode & S_IFMT) != S_IFDIR)
		return -ENOTDIR;
	*file = file_new(&initramfs_ops, flags, (void *)(u64)inode);
	return *file != NULL ? 0 : -ENOMEM;
}

const struct inode *file_inode(struct file *file)
{
	return file->ops == &initramfs_ops ? file->object : NULL;
}
