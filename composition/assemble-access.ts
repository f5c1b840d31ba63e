import type { ObjectTypeDefinition } from '../core/kernel/permission.ts'
import type { GrantedAccess, ObjectRef, ParamRef } from '../plugins/kit/access.ts'
import type { AnyBoundRoute } from '../plugins/kit/route.ts'

/** An account is an organization or a user, so its relations are theirs. */
const relationHolders: Readonly<Record<string, readonly string[]>> = { account: ['account', 'organization', 'user'] }

/** What is wrong with a route's access: no scope, an unknown relation, a parameter that its path does not have. */
export const accessProblems = (
  route: { readonly bound: AnyBoundRoute; readonly fullPath: string },
  objectTypes: readonly ObjectTypeDefinition[],
): readonly string[] => {
  const { bound, fullPath } = route
  const { id, access } = bound.route
  const problems: string[] = []
  if (!bound.route.path.startsWith('/')) problems.push(`The path of ${id} must start with a slash.`)
  if (bound.kind === 'stream' && !bound.route.path.endsWith('/*')) problems.push(`The path of ${id} must end in /*.`)
  if (bound.kind === 'json' && bound.route.scope === undefined && !['public', 'password'].includes(access.kind)) {
    problems.push(`Route ${id} says no token scope: every token would pass.`)
  }
  if (access.kind !== 'granted') return problems
  if (!isKnownRelation(access, objectTypes)) {
    problems.push(`Route ${id} requires the relation ${access.relation} on ${access.object.type}, which no plugin defines.`)
  }
  for (const { name } of pathParams(access.object)) {
    if (!fullPath.includes(`{${name}}`)) problems.push(`Route ${id} takes its object from the path parameter ${name}, which ${fullPath} does not have.`)
  }
  return problems
}

const isKnownRelation = (access: GrantedAccess, objectTypes: readonly ObjectTypeDefinition[]): boolean => {
  const holders = relationHolders[access.object.type] ?? [access.object.type]
  if (access.relation === 'member' && holders.includes('organization')) return true
  return objectTypes.some(({ type, relations }) => holders.includes(type) && Object.hasOwn(relations, access.relation))
}

const pathParams = (object: ObjectRef): readonly ParamRef[] =>
  Object.values(object).filter((part): part is ParamRef => typeof part === 'object' && part.in === 'path')
