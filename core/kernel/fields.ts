/** Returns the given fields whose values differ from the current ones. An undefined field is ignored. */
export const changedFields = <C extends object>(current: { readonly [K in keyof C]-?: Exclude<C[K], undefined> }, changes: C): Partial<C> =>
  Object.fromEntries(
    Object.entries(changes).filter(([field, value]) => value !== undefined && current[field as keyof C] !== value),
  ) as Partial<C>

/** Reports whether there are no changes. */
export const isUnchanged = (changed: object): boolean => Object.keys(changed).length === 0

/** Reports whether two lists, each without duplicates, have the same elements. */
export const isSameSet = <A>(a: readonly A[], b: readonly A[]): boolean => a.length === b.length && a.every((member) => b.includes(member))

/** Returns the fields that are defined, and leaves the others out: a key whose value is undefined is not a missing key. */
export const definedFields = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> }
