/*
 * Arrays whose items begin with a 64-bit id and are sorted by it: the devices of a page, which come
 * several times, once per family, and are compared with those of the page before. Ids are hashes of
 * names: a peer that finds collisions only blurs its own node.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

#define ID_NULL UINT64_C(0xcbf29ce484222325)

/** id_add() - @id of what came before (ID_NULL at first), and @len bytes of @text (FNV-1a) */
uint64_t id_add(uint64_t id, const char *text, size_t len);

/**
 * id_list_get() - the item with @id, added as zero if need be
 * @array:      pointer to the array's pointer (any type whose first member is uint64_t id)
 * @count, cap: its length and capacity in items
 * Return: the item, good until the next call; NULL when it would be the @max + 1st
 */
void *id_list_get(void *array, size_t *count, size_t *cap, size_t item_bytes, size_t max,
                  uint64_t id);
