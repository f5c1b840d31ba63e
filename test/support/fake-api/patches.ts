import jsonPatch from 'fast-json-patch'
import { isTree, type Tree } from './kube-object.ts'

/** Keys by which lists of these names are merged; any other list is replaced as a whole. */
const mergeKeys: Readonly<Record<string, readonly string[]>> = {
  containers: ['name'],
  initContainers: ['name'],
  volumes: ['name'],
  env: ['name'],
  imagePullSecrets: ['name'],
  secrets: ['name'],
  volumeMounts: ['mountPath'],
  ports: ['containerPort', 'port'],
  conditions: ['type'],
  ownerReferences: ['uid'],
}

/** RFC 7386. */
export const mergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isTree(patch)) return patch
  const merged: Tree = isTree(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key]
    else merged[key] = mergePatch(merged[key], value)
  }
  return merged
}

/** RFC 6902. */
export const applyJsonPatch = (target: unknown, patch: unknown): unknown =>
  jsonPatch.applyPatch(structuredClone(target), patch as jsonPatch.Operation[]).newDocument

/**
 * As kube-apiserver does it for the lists above; directives: $patch, $setElementOrder, $deleteFromPrimitiveList,
 * $retainKeys.
 */
export const strategicMergePatch = (target: unknown, patch: Tree): Tree => {
  if (patch['$patch'] === 'replace') return plain(patch)
  const merged: Tree = isTree(target) ? { ...target } : {}
  const retained = patch['$retainKeys']
  if (Array.isArray(retained)) for (const key of Object.keys(merged)) if (!retained.includes(key)) delete merged[key]
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$deleteFromPrimitiveList/')) {
      const name = key.slice(key.indexOf('/') + 1)
      if (Array.isArray(merged[name]) && Array.isArray(value))
        merged[name] = merged[name].filter((each) => !value.includes(each))
    } else if (key.startsWith('$')) continue
    else if (value === null) delete merged[key]
    else if (Array.isArray(value)) merged[key] = mergeLists(key, merged[key], value, patch[`$setElementOrder/${key}`])
    else merged[key] = isTree(value) ? strategicMergePatch(merged[key], value) : value
  }
  return merged
}

const plain = (patch: Tree): Tree => Object.fromEntries(Object.entries(patch).filter(([key]) => !key.startsWith('$')))

const keyOf = (name: string, item: Tree): string | undefined => {
  const key = (mergeKeys[name] ?? []).find((each) => item[each] !== undefined)
  return key === undefined ? undefined : `${key}=${String(item[key])}`
}

const mergeLists = (name: string, target: unknown, patch: readonly unknown[], order: unknown): unknown => {
  if (mergeKeys[name] === undefined || !patch.every(isTree)) return patch
  const known = new Map((Array.isArray(target) ? target.filter(isTree) : []).map((item) => [keyOf(name, item), item]))
  for (const item of patch) {
    const key = keyOf(name, item)
    if (item['$patch'] === 'delete') known.delete(key)
    else known.set(key, strategicMergePatch(known.get(key), item))
  }
  const wanted = Array.isArray(order) ? order.filter(isTree).map((item) => keyOf(name, item)) : []
  const place = (key: string | undefined): number => (wanted.includes(key) ? wanted.indexOf(key) : wanted.length)
  return [...known].toSorted(([one], [other]) => place(one) - place(other)).map(([, item]) => item)
}

/** Server-side apply of one manager: what it applied before and does not apply any more goes away. */
export const serverSideApply = (live: unknown, before: unknown, applied: unknown, name = ''): unknown => {
  if (isTree(applied)) {
    const merged: Tree = isTree(live) ? { ...live } : {}
    const had = isTree(before) ? before : {}
    for (const key of Object.keys(had)) if (!(key in applied)) delete merged[key]
    for (const [key, value] of Object.entries(applied)) merged[key] = serverSideApply(merged[key], had[key], value, key)
    return merged
  }
  if (!Array.isArray(applied) || mergeKeys[name] === undefined || !applied.every(isTree)) return applied
  const byKey = (list: unknown): Map<string | undefined, Tree> =>
    new Map((Array.isArray(list) ? list.filter(isTree) : []).map((item) => [keyOf(name, item), item]))
  const [known, had] = [byKey(live), byKey(before)]
  const now = new Map(
    applied.map((item) => [
      keyOf(name, item),
      serverSideApply(known.get(keyOf(name, item)), had.get(keyOf(name, item)), item),
    ]),
  )
  const others = [...known].filter(([key]) => !now.has(key) && !had.has(key)).map(([, item]) => item)
  return [...now.values(), ...others]
}
