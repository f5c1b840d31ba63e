import type { ObjectTypeDefinition, PermissionDefinition } from '../kernel/access.ts'
import { permissionKey } from '../kernel/access.ts'
import type { Catalogue } from './types.ts'

const lowerCaseName = /^[a-z][a-z_]*$/
const actionName = /^[a-z][a-z ]*$/
// As the columns of role_permissions and object_grants are wide.
const maxNameLength = 64

/** Everything that is wrong with a catalogue, in plain words; none when it can be compiled. */
export const catalogueProblems = (catalogue: Catalogue): readonly string[] => {
  const known = new Set(catalogue.permissions.map(permissionKey))
  return [
    ...repeated(catalogue.permissions.map((definition) => `permission ${permissionKey(definition)}`)),
    ...repeated(
      catalogue.objectTypes.flatMap(({ type, relations }) => Object.keys(relations).map((name) => `relation ${type}.${name}`)),
    ),
    ...catalogue.permissions.flatMap((definition) => permissionProblems(definition, known)),
    ...catalogue.objectTypes.flatMap((definition) => relationProblems(definition, known)),
    ...typeProblems(catalogue.objectTypes),
  ]
}

const repeated = (names: readonly string[]): readonly string[] =>
  [...new Set(names.filter((name, index) => names.indexOf(name) !== index))].map((name) => `The ${name} is declared twice.`)

const permissionProblems = (definition: PermissionDefinition, known: ReadonlySet<string>): readonly string[] => {
  const { namespace, action } = definition
  const key = permissionKey(definition)
  const isNamed =
    lowerCaseName.test(namespace) && actionName.test(action) && namespace.length <= maxNameLength && action.length <= maxNameLength
  return [
    ...(isNamed ? [] : [`The permission ${key} is no lower-case word and phrase of at most ${maxNameLength} letters.`]),
    ...(definition.associated ?? [])
      .filter((other) => !known.has(permissionKey(other)))
      .map((other) => `The permission ${key} is associated with ${permissionKey(other)}, which nobody declares.`),
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
      .map((term) => `The relation ${definition.type}.${name} asks for an unknown permission: ${JSON.stringify(term)}.`),
  ),
]

/** `can_view` decides whether a refusal may tell that the object exists, so a type with relations needs it. */
const typeProblems = (definitions: readonly ObjectTypeDefinition[]): readonly string[] =>
  [...new Set(definitions.map(({ type }) => type))].flatMap((type) => {
    const contributions = definitions.filter((definition) => definition.type === type)
    const relations = contributions.flatMap((contribution) => Object.keys(contribution.relations))
    return [
      ...(new Set(contributions.map(({ listed }) => listed)).size > 1 ? [`The contributions to ${type} disagree whether it is listed.`] : []),
      ...(relations.length > 0 && !relations.includes('can_view') ? [`The type ${type} has no relation can_view.`] : []),
    ]
  })
