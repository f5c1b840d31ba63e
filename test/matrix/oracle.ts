import type { AssembledRoute, Assembly } from '../../composition/runtime/assemble.ts'
import type { RelationTerm } from '../../core/kernel/access.ts'
import type { GrantedAccess } from '../../plugins/kit/access.ts'

/**
 * What someone is, as far as the declarations ask. The object of every route is the organization `harbour` or lies in
 * it.
 */
export interface DescribeStatus {
  /** Undefined outside the organization. */
  readonly level: 'read' | 'write' | 'owner' | undefined
  readonly isSiteAdmin: boolean
  readonly actsAsAnother: boolean
  /** Scope categories and levels that the token carries; undefined for all. */
  readonly scopes: readonly string[] | undefined
  /** Whether the credential is accepted at all. */
  readonly isValid: boolean
}

export type Carrier = 'none' | 'token' | 'password' | 'session'

/** `unauthenticated`: 401. `denied`: 403. `hidden`: 403 or 404. `admitted`: none of these. */
export type Decision = 'unauthenticated' | 'denied' | 'hidden' | 'admitted'

const ranks: readonly string[] = ['none', 'read', 'write', 'admin', 'owner']
const reaches = (level: string | undefined, atLeast: string): boolean =>
  level !== undefined && ranks.indexOf(level) >= ranks.indexOf(atLeast)

const holdsTerm = (term: RelationTerm, who: DescribeStatus, type: string, assembly: Assembly): boolean => {
  const { permissions } = assembly
  switch (term.by) {
    case 'level':
      return reaches(who.level, term.atLeast)
    case 'permission': {
      const found = permissions.find(({ namespace, action }) => namespace === term.namespace && action === term.action)
      return found !== undefined && reaches(who.level, found.level)
    }
    case 'container':
      return holdsRelation(containerOf(type, assembly), term.relation, who, assembly)
    case 'member':
      return who.level !== undefined
    case 'signed-in':
      return true
    // Nobody holds a grant of their own here, the organization owns everything, and no object is a person.
    case 'direct':
    case 'owner':
    case 'self':
      return false
  }
}

const holders = (type: string): readonly string[] => (type === 'account' ? ['account', 'organization'] : [type])

const holds = ({ relation, object }: GrantedAccess, who: DescribeStatus, assembly: Assembly): boolean =>
  relation === 'member'
    ? who.isSiteAdmin || who.level !== undefined
    : holdsRelation(object.type, relation, who, assembly)

/** Whether someone holds a relation on the objects of a type, by the declarations alone. */
export const holdsRelation = (type: string, relation: string, who: DescribeStatus, assembly: Assembly): boolean => {
  if (who.isSiteAdmin) return true
  const terms = assembly.objectTypes
    .filter((definition) => holders(type).includes(definition.type))
    .flatMap(({ relations }) => relations[relation] ?? [])
  return terms.some((term) => holdsTerm(term, who, type, assembly))
}

const containerOf = (type: string, { objectTypes }: Assembly): string => {
  const places = objectTypes.flatMap((definition) =>
    definition.type === type && typeof definition.place?.in === 'object' ? [definition.place.in.type] : [],
  )
  return places[0] ?? ''
}

const scopeOf = (
  { bound }: AssembledRoute,
  method: string,
): { readonly category: string; readonly level: string } | undefined =>
  bound.kind === 'json'
    ? bound.route.scope
    : { category: bound.route.scopeCategory, level: method === 'GET' ? 'read' : 'write' }

const carries = (
  scopes: readonly string[] | undefined,
  needed: { readonly category: string; readonly level: string } | undefined,
): boolean =>
  scopes === undefined ||
  needed === undefined ||
  scopes.includes(`write:${needed.category}`) ||
  (needed.level === 'read' && scopes.includes(`read:${needed.category}`))

/**
 * Reads whose answer depends on more than the declared access: the use case itself hides a private organization from
 * whoever is outside it, and shows access tokens and an invitation to one person only, who owns the organization.
 */
const hidesPrivateOrganization =
  /^\/api\/v1\/(orgs\/\{orgname\}(\/(public_)?members(\/\{username\})?|\/repos)?|users\/\{username\}\/orgs\/\{org\}\/permissions)$/
/** 401 for a caller outside the organization: the specification says so. */
const membersAlone = '/api/v1/tsproxy/auth/{uidcid}/*'
/** 404 for every other caller: an application of the owner, and a question that no application has asked. */
const ownApplication = '/api/v1/user/settings/applications/oauth2/{id}'
const unasked = '/api/v1/user/authorizations'
const ownersAlone = ['/api/v1/users/{username}/tokens', '/api/v1/user/invitations/{token}']

const decideInside = (
  { fullPath }: AssembledRoute,
  method: string,
  who: DescribeStatus,
  carrier: Carrier,
): Decision => {
  if (method !== 'GET') return 'admitted'
  if (fullPath === membersAlone) return who.level === undefined ? 'unauthenticated' : 'admitted'
  if (fullPath === unasked) return 'hidden'
  if (fullPath === ownApplication) return who.level === 'owner' ? 'admitted' : 'hidden'
  if (ownersAlone.includes(fullPath)) return who.level === 'owner' ? 'admitted' : 'denied'
  if (!hidesPrivateOrganization.test(fullPath) || who.isSiteAdmin) return 'admitted'
  const seesAsMember =
    carrier !== 'none' && who.level !== undefined && carries(who.scopes, { category: 'organization', level: 'read' })
  return seesAsMember ? 'admitted' : 'hidden'
}

/** What the declarations say about a request, computed from them alone. */
export const decide = (
  route: AssembledRoute,
  method: string,
  who: DescribeStatus,
  carrier: Carrier,
  assembly: Assembly,
): Decision => {
  const declared = decideDeclared(route, method, who, carrier, assembly)
  return declared === 'admitted' ? decideInside(route, method, who, carrier) : declared
}

const decideDeclared = (
  route: AssembledRoute,
  method: string,
  who: DescribeStatus,
  carrier: Carrier,
  assembly: Assembly,
): Decision => {
  const { access } = route.bound.route
  if (carrier === 'none') return access.kind === 'public' ? 'admitted' : 'unauthenticated'
  if (access.kind === 'password' && carrier !== 'password') return 'unauthenticated'
  const refusesSudo =
    route.bound.kind === 'json' && (route.bound.route.refusesSudo === true || route.bound.route.makesToken === true)
  if (who.actsAsAnother && refusesSudo) return 'denied'
  if (!who.isValid) return 'unauthenticated'
  if (!carries(who.scopes, scopeOf(route, method))) return 'denied'
  if (access.kind === 'site-admin') return who.isSiteAdmin ? 'admitted' : 'denied'
  if (access.kind !== 'granted' || holds(access, who, assembly)) return 'admitted'
  return access.hiddenAs === 'not-found' ? 'hidden' : 'denied'
}
