/*
 * Arrays whose items begin with a 64-bit id and are sorted by it: the devices of an exposition,
 * which come several times, once per family, and are compared with those of the exposition before.
 * Ids are hashes of names (hash_fnv1a()): a peer that finds collisions only blurs its own node.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/**
 * id_list_get() - the item with @id, added as zero if need be
 * @array:      pointer to the array's pointer (any type whose first member is uint64_t id)
 * @count, cap: its length and capacity in items
 * Return: the item, good until the next call; NULL when it would be the @max + 1st
 */
void *id_list_get(void *array, size_t *count, size_t *cap, size_t item_bytes, size_t max,
                  uint64_t id);
