/** Those of the given fields that differ from what is there; an undefined one changes nothing. */
export const changedFields = <C extends object>(current: { readonly [K in keyof C]-?: Exclude<C[K], undefined> }, changes: C): Partial<C> =>
  Object.fromEntries(
    Object.entries(changes).filter(([field, value]) => value !== undefined && current[field as keyof C] !== value),
  ) as Partial<C>

/** Whether nothing is changed. */
export const isUnchanged = (changed: object): boolean => Object.keys(changed).length === 0

/** Whether two lists, each without repetition, have the same members. */
export const isSameSet = <A>(a: readonly A[], b: readonly A[]): boolean => a.length === b.length && a.every((member) => b.includes(member))
