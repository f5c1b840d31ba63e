/** The domains that an access token can be limited to. */
export const scopeCategories = [
  'user',
  'organization',
  'authz',
  'cluster',
  'contract',
  'billing',
  'marketplace',
  'admin',
  'misc',
] as const
export type ScopeCategory = (typeof scopeCategories)[number]
export type ScopeLevel = 'read' | 'write'

/** What a route demands of a token. */
export interface RequiredScope {
  readonly category: ScopeCategory
  readonly level: ScopeLevel
}

/** What a token grants: everything (`all`), impersonation (`sudo`), and a level for each category; write includes read. */
export interface ScopeSet {
  readonly all: boolean
  readonly sudo: boolean
  readonly publicOnly: boolean
  readonly levels: Readonly<Partial<Record<ScopeCategory, ScopeLevel>>>
}

export const fullScope: ScopeSet = { all: true, sudo: true, publicOnly: false, levels: {} }

/** Whether a scope set satisfies a route. A category that the set does not name is denied. */
export const allows = (granted: ScopeSet, required: RequiredScope): boolean => {
  if (granted.all) return true
  const level = granted.levels[required.category]
  return level === 'write' || (level === 'read' && required.level === 'read')
}
