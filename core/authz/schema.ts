import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type {
  Level,
  ObjectPlace,
  ObjectTypeDefinition,
  PermissionDefinition,
  PermissionRef,
  RelationTerm,
} from '../kernel/access.ts'
import { byPermissionKey, levels, permissionKey, reaches } from '../kernel/access.ts'
import type { PermissionLevels } from '../kernel/rights.ts'
import type { ScopeSet } from '../kernel/principal.ts'
import { allows } from '../kernel/principal.ts'
import type { Catalogue } from './types.ts'
import { toWireJson } from '../kernel/json.ts'

const lowerCaseName = /^[a-z][a-z_]*$/
const actionName = /^[a-z][a-z ]*$/
// The width of the columns of role_permissions and object_grants.
const maxNameLength = 64

/** Returns every problem of a catalogue, in plain words; none if it can be compiled. */
export const catalogueProblems = (catalogue: Catalogue): readonly string[] => {
  const known = new Set(catalogue.permissions.map(permissionKey))
  return [
    ...repeated(catalogue.permissions.map((definition) => `permission ${permissionKey(definition)}`)),
    ...repeated(
      catalogue.objectTypes.flatMap(({ type, relations }) =>
        Object.keys(relations).map((name) => `relation ${type}.${name}`),
      ),
    ),
    ...catalogue.permissions.flatMap((definition) => permissionProblems(definition, known)),
    ...catalogue.objectTypes.flatMap((definition) => relationProblems(definition, known)),
    ...typeProblems(catalogue.objectTypes),
    ...catalogue.objectTypes.flatMap((definition) => placeProblems(definition, catalogue.objectTypes)),
  ]
}

const repeated = (names: readonly string[]): readonly string[] =>
  [...new Set(names.filter((name, index) => names.indexOf(name) !== index))].map(
    (name) => `The ${name} is declared twice.`,
  )

const permissionProblems = (definition: PermissionDefinition, known: ReadonlySet<string>): readonly string[] => {
  const { namespace, action } = definition
  const key = permissionKey(definition)
  const isNamed =
    lowerCaseName.test(namespace) &&
    actionName.test(action) &&
    namespace.length <= maxNameLength &&
    action.length <= maxNameLength
  return [
    ...(isNamed ? [] : [`The permission ${key} is no lower-case word and phrase of at most ${maxNameLength} letters.`]),
    ...(definition.associated ?? [])
      .filter((other) => !known.has(permissionKey(other)))
      .map((other) => `The permission ${key} is associated with ${permissionKey(other)}, which no plugin declares.`),
  ]
}

const relationProblems = (definition: ObjectTypeDefinition, known: ReadonlySet<string>): readonly string[] => [
  ...Object.keys(definition.relations)
    .filter((name) => !lowerCaseName.test(name) || name.length > maxNameLength)
    .map((name) => `The relation ${definition.type}.${name} is no lower-case name.`),
  ...definition.reading
    .filter((name) => definition.relations[name] === undefined)
    .map((name) => `The type ${definition.type} calls ${name} a reading relation, but does not declare it there.`),
  ...Object.entries(definition.relations).flatMap(([name, terms]) =>
    terms
      .filter((term) => term.by === 'permission' && !known.has(permissionKey(term)))
      .map((term) => `The relation ${definition.type}.${name} asks for an unknown permission: ${toWireJson(term)}.`),
  ),
]

/** `can_view` decides whether a refusal may disclose that the object exists, so a type with relations must have it. */
const typeProblems = (definitions: readonly ObjectTypeDefinition[]): readonly string[] =>
  [...new Set(definitions.map(({ type }) => type))].flatMap((type) => {
    const contributions = definitions.filter((definition) => definition.type === type)
    const relations = contributions.flatMap((contribution) => Object.keys(contribution.relations))
    return [
      ...(new Set(contributions.map(({ listed }) => listed)).size > 1
        ? [`The contributions to ${type} disagree whether it is listed.`]
        : []),
      ...(relations.length > 0 && !relations.includes('can_view')
        ? [`The type ${type} has no relation can_view.`]
        : []),
      ...(contributions.filter(({ place }) => place !== undefined).length > 1
        ? [`The place of the type ${type} is declared twice.`]
        : []),
    ]
  })

/** Returns the type that contains the objects of a type. */
const containerOf = (place: ObjectPlace | undefined): string | undefined =>
  typeof place?.in === 'object' ? place.in.type : undefined

const placeOf = (definitions: readonly ObjectTypeDefinition[], type: string): ObjectPlace | undefined =>
  definitions.find((definition) => definition.type === type && definition.place !== undefined)?.place

/** Objects are one level deep in others: a statement that finds one joins the account, its container and itself. */
const placeProblems = (
  { type, listed, place, relations }: ObjectTypeDefinition,
  definitions: readonly ObjectTypeDefinition[],
): readonly string[] => {
  const container = containerOf(placeOf(definitions, type))
  const inherited = Object.values(relations).flatMap((terms) =>
    terms.flatMap((term) => (term.by === 'container' ? [term.relation] : [])),
  )
  const onContainer = new Set(
    definitions
      .filter((definition) => definition.type === container)
      .flatMap((definition) => Object.keys(definition.relations)),
  )
  const foreign = inherited.filter((relation) => !onContainer.has(relation))
  const problems = foreign.map(
    (relation) => `The type ${type} takes ${relation} from its container, which has no such relation.`,
  )
  if (place === undefined) return problems
  if (place.rows === 'container' && (container === undefined || listed))
    problems.push(`The type ${type} has no rows, so it must be inside another type and must not be listed.`)
  if (container === undefined) return problems
  const outer = placeOf(definitions, container)
  if (outer?.rows !== 'own' || (outer.in !== 'account' && outer.in !== 'any-account'))
    problems.push(`The type ${type} is inside ${container}, which must have rows in an account.`)
  return problems
}

/** A set of relations of one object type: bit n is the n-th relation in alphabetical order. */
export type RelationMask = bigint

/** One object type, compiled for evaluation: the relations that each way to hold them gives. */
export interface CompiledType {
  readonly type: string
  readonly listed: boolean
  readonly place: ObjectPlace | undefined
  /** The type of the objects that contain those of this type. */
  readonly container: CompiledType | undefined
  /** Sorted; the index is the bit number. */
  readonly relations: readonly string[]
  readonly every: RelationMask
  /** By level. Includes lower levels and the permissions that a level includes. */
  readonly byLevel: Readonly<Record<Level, RelationMask>>
  /** By permission key. */
  readonly byPermission: ReadonlyMap<string, RelationMask>
  /** By the relation granted on the object itself. */
  readonly byGrant: ReadonlyMap<string, RelationMask>
  /** By the bit of a relation on the container. */
  readonly byContainer: ReadonlyMap<RelationMask, RelationMask>
  readonly byOwning: RelationMask
  readonly bySelf: RelationMask
  readonly byMembership: RelationMask
  readonly bySigningIn: RelationMask
  /** Returns the relations that a token with these scopes can use. */
  withinScope(scopes: ScopeSet): RelationMask
}

/** The compiled catalogue. */
export interface AuthorizationSchema extends PermissionLevels {
  readonly types: ReadonlyMap<string, CompiledType>
  /** The types that the allowed-permissions routes accept, sorted. */
  readonly listedTypes: readonly string[]
  /** By namespace and action. */
  readonly permissions: readonly PermissionDefinition[]
  permission(ref: PermissionRef): PermissionDefinition | undefined
}

const bit = (index: number): RelationMask => 1n << BigInt(index)

/**
 * Merges the contributions to each type and compiles them. Left lists every problem of the catalogue; start-up then
 * fails.
 */
export const compileSchema = (catalogue: Catalogue): Either<readonly string[], AuthorizationSchema> => {
  const problems = catalogueProblems(catalogue)
  if (problems.length > 0) return left(problems)
  const permissions = new Map(catalogue.permissions.map((definition) => [permissionKey(definition), definition]))
  const levelOf: PermissionLevels['levelOf'] = (ref) => permissions.get(permissionKey(ref))?.level
  const names = [...new Set(catalogue.objectTypes.map((definition) => definition.type))].sort()
  const compile = (type: string): CompiledType => {
    const place = placeOf(catalogue.objectTypes, type)
    const container = containerOf(place)
    const contributions = catalogue.objectTypes.filter((definition) => definition.type === type)
    return compileType(type, contributions, levelOf, place, container === undefined ? undefined : compile(container))
  }
  const types = new Map(names.map((type) => [type, compile(type)]))
  return right({
    types,
    listedTypes: names.filter((type) => types.get(type)?.listed === true),
    permissions: [...permissions.values()].sort(byPermissionKey),
    permission: (ref) => permissions.get(permissionKey(ref)),
    levelOf,
  })
}

const compileType = (
  type: string,
  contributions: readonly ObjectTypeDefinition[],
  levelOf: (ref: PermissionRef) => Level | undefined,
  place: ObjectPlace | undefined,
  container: CompiledType | undefined,
): CompiledType => {
  const relations = contributions.flatMap((contribution) => Object.keys(contribution.relations)).sort()
  const terms = contributions.flatMap((contribution) =>
    Object.entries(contribution.relations).flatMap(([relation, ways]) => ways.map((term) => ({ relation, term }))),
  )
  const maskOf = (chosen: readonly string[]): RelationMask =>
    chosen.reduce((mask, relation) => mask | bit(relations.indexOf(relation)), 0n)
  const maskWhere = (holds: (term: RelationTerm) => boolean): RelationMask =>
    maskOf(terms.filter(({ term }) => holds(term)).map(({ relation }) => relation))
  const masksBy = <Key extends string | RelationMask>(
    keyOf: (term: RelationTerm) => Key | undefined,
  ): ReadonlyMap<Key, RelationMask> => {
    const keys = new Set(terms.map(({ term }) => keyOf(term)).filter((key) => key !== undefined))
    return new Map([...keys].map((key) => [key, maskWhere((term) => keyOf(term) === key)]))
  }
  const levelGives = (level: Level) => (term: RelationTerm) => {
    const needed = term.by === 'level' ? term.atLeast : term.by === 'permission' ? levelOf(term) : undefined
    return needed !== undefined && reaches(level, needed)
  }
  const every = maskOf(relations)
  const scopes = contributions.map((contribution) => ({
    category: contribution.scope,
    reading: maskOf(contribution.reading),
    all: maskOf(Object.keys(contribution.relations)),
  }))
  return {
    type,
    listed: contributions.some((contribution) => contribution.listed),
    place,
    container,
    relations,
    every,
    byLevel: Object.fromEntries(levels.map((level) => [level, maskWhere(levelGives(level))])) as Record<
      Level,
      RelationMask
    >,
    byPermission: masksBy((term) => (term.by === 'permission' ? permissionKey(term) : undefined)),
    byGrant: masksBy((term) => (term.by === 'direct' ? term.relation : undefined)),
    byContainer: masksBy((term) =>
      term.by === 'container' && container !== undefined ? relationBit(container, term.relation) : undefined,
    ),
    byOwning: maskWhere((term) => term.by === 'owner'),
    bySelf: maskWhere((term) => term.by === 'self'),
    byMembership: maskWhere((term) => term.by === 'member'),
    bySigningIn: maskWhere((term) => term.by === 'signed-in'),
    withinScope: (granted) =>
      scopes.reduce((mask, { category, reading, all }) => {
        if (allows(granted, { category, level: 'write' })) return mask | all
        return allows(granted, { category, level: 'read' }) ? mask | reading : mask
      }, 0n),
  }
}

/**
 * Returns the bit of a relation. Throws if the type has no such relation: a route that names it is a programming error.
 */
export const relationBit = (type: CompiledType, relation: string): RelationMask => {
  const index = type.relations.indexOf(relation)
  if (index < 0) throw new Error(`The object type ${type.type} has no relation ${relation}.`)
  return bit(index)
}

/** Returns the names of the relations in a mask, sorted. */
export const relationNames = (type: CompiledType, mask: RelationMask): readonly string[] =>
  type.relations.filter((_, index) => (mask & bit(index)) !== 0n)
