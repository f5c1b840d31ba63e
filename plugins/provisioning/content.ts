import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../../core/kernel/ids.ts'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import { isObject, own, ownObject, ownText, toWireJson, withKey } from '../../core/kernel/json.ts'
import type { ReadFailure } from '../../core/provisioning/ports.ts'
import {
  InvalidPath,
  InvalidSyntax,
  InvalidValue,
  Mutability,
  NoTarget,
  TooMany,
} from '../../core/provisioning/ports.ts'
import type {
  GroupContent,
  MemberChange,
  ProvisionedGroup,
  ProvisionedUser,
  UserContent,
} from '../../core/provisioning/types.ts'
import { directoryKey, rowIdOf } from '../../core/provisioning/types.ts'
import { groupShape, userShape } from './scim/attributes.ts'
import type { Filter } from './scim/filter.ts'
import { parsePatchPath } from './scim/filter.ts'
import type { PatchOperation } from './scim/patch.ts'
import { applyPatch, maxOperations, patchVerb } from './scim/patch.ts'
import type { Read, ScimFault } from './scim/resource.ts'
import { readResource } from './scim/resource.ts'

/** The most characters of the JSON of what is kept of a user. */
const maxContentLength = 48 * 1024
const maxUserName = 254
const maxExternalId = 255
/** The most characters of the full name of an account. */
const maxFullName = 100
const maxGroupName = 255
/** The most members that one request names. */
const maxMembers = 10_000

const failures = {
  invalidFilter: InvalidValue,
  tooMany: TooMany,
  uniqueness: InvalidValue,
  mutability: Mutability,
  invalidSyntax: InvalidSyntax,
  invalidPath: InvalidPath,
  noTarget: NoTarget,
  invalidValue: InvalidValue,
} as const satisfies Record<ScimFault['type'], unknown>

const failing = <A>(read: Read<A>): Either<ReadFailure, A> =>
  isLeft(read) ? left(failures[read.left.type](read.left.detail)) : read

/** The lower case of a text, by which it is compared, can be longer than the text. */
const isLonger = (text: string, length: number): boolean => Math.max(text.length, directoryKey(text).length) > length

const emailsOf = (resource: FreeObject): readonly FreeObject[] => {
  const emails = own(resource, 'emails')
  return Array.isArray(emails) ? (emails as readonly Json[]).filter(isObject) : []
}

const nameOf = (resource: FreeObject): string => {
  const name = ownObject(resource, 'name')
  const parts = [ownText(name, 'givenName'), ownText(name, 'familyName')].filter((part) => part !== '').join(' ')
  return ownText(resource, 'displayName') || ownText(name, 'formatted') || parts
}

/** Cuts a text without dividing a character. */
const cut = (text: string, length: number): string => [...text.replaceAll(/\s+/g, ' ')].slice(0, length).join('').trim()

/** Returns what a user is by its attributes. `isActive` counts if the attributes do not say it. */
const contentOf = (resource: FreeObject, isActive: boolean): Either<ReadFailure, UserContent> => {
  const userName = ownText(resource, 'userName')
  const externalId = ownText(resource, 'externalId')
  if (isLonger(userName, maxUserName))
    return left(InvalidValue(`userName must have at most ${maxUserName} characters.`))
  if (externalId.length > maxExternalId)
    return left(InvalidValue(`externalId must have at most ${maxExternalId} characters.`))
  const emails = emailsOf(resource).map((email) => ({ value: ownText(email, 'value'), primary: own(email, 'primary') }))
  const given = emails.filter(({ value }) => value !== '')
  const primary = given.find((email) => email.primary === true) ?? given[0]
  const email = primary?.value ?? (userName.includes('@') ? userName : undefined)
  if (email === undefined) return left(InvalidValue('emails: the user needs an e-mail address, which userName can be.'))
  const active = own(resource, 'active')
  // Kept only to know whether the directory says it: the account has the value.
  const attributes = withKey(resource, 'active', active === undefined ? undefined : true)
  if (toWireJson(attributes).length > maxContentLength)
    return left(InvalidValue(`The attributes must have at most ${maxContentLength} characters together.`))
  return right({
    userName,
    externalId: externalId === '' ? undefined : externalId,
    fullName: cut(nameOf(resource), maxFullName),
    displayName: ownText(resource, 'displayName'),
    email,
    emails: given.map(({ value }) => value),
    isActive: typeof active === 'boolean' ? active : isActive,
    attributes,
  })
}

/** Reads a new user. */
export const readUser = (body: FreeObject): Either<ReadFailure, UserContent> => {
  const read = failing(readResource(userShape, body))
  return isLeft(read) ? read : contentOf({ active: true, ...read.right }, true)
}

/** Returns the content of a user as it is. */
export const contentOfUser = ({ attributes, isActive }: ProvisionedUser): Either<ReadFailure, UserContent> =>
  contentOf(own(attributes, 'active') === undefined ? attributes : { ...attributes, active: isActive }, isActive)

/** Reads a user that replaces another one, which stays active or not if the body does not say it. */
export const replaceUser =
  (body: FreeObject) =>
  ({ isActive }: ProvisionedUser): Either<ReadFailure, UserContent> => {
    const read = failing(readResource(userShape, body))
    return isLeft(read) ? read : contentOf({ active: isActive, ...read.right }, isActive)
  }

const keyed = (object: FreeObject, key: string): Json | undefined =>
  Object.entries(object).find(([name]) => name.toLowerCase() === key)?.[1]

/** Reads the operations of a PATCH. */
const readOperations = (body: FreeObject): Either<ReadFailure, readonly PatchOperation[]> => {
  const sent = keyed(body, 'operations')
  const given = Array.isArray(sent) ? (sent as readonly Json[]) : isObject(sent) ? [sent] : []
  if (given.length === 0) return left(InvalidSyntax('Operations must be a list of at least one operation.'))
  if (given.length > maxOperations) return left(TooMany(`A PATCH has at most ${maxOperations} operations.`))
  const operations: PatchOperation[] = []
  for (const each of given) {
    const [op, path] = isObject(each) ? [keyed(each, 'op'), keyed(each, 'path')] : []
    if (!isObject(each) || typeof op !== 'string' || (path !== undefined && path !== null && typeof path !== 'string'))
      return left(InvalidSyntax('Each operation must have the texts op and, unless it has no path, path.'))
    operations.push({
      op,
      path: typeof path === 'string' && path !== '' ? path : undefined,
      value: keyed(each, 'value'),
    })
  }
  return right(operations)
}

/** Reads a PATCH of a user. */
export const patchUser =
  (body: FreeObject) =>
  ({ attributes, isActive }: ProvisionedUser): Either<ReadFailure, UserContent> => {
    const operations = readOperations(body)
    if (isLeft(operations)) return operations
    const patched = failing(applyPatch(userShape, { ...attributes, active: isActive }, operations.right))
    return isLeft(patched) ? patched : contentOf(patched.right, true)
  }

const groupContent = (resource: FreeObject): Either<ReadFailure, GroupContent> => {
  const [displayName, externalId] = [ownText(resource, 'displayName'), ownText(resource, 'externalId')]
  if (isLonger(displayName, maxGroupName))
    return left(InvalidValue(`displayName must have at most ${maxGroupName} characters.`))
  if (externalId.length > maxExternalId)
    return left(InvalidValue(`externalId must have at most ${maxExternalId} characters.`))
  return right({ displayName, externalId: externalId === '' ? undefined : externalId })
}

const userIdOf = (value: Json | undefined): UserId | undefined => {
  const text = isObject(value) ? keyed(value, 'value') : value
  return typeof text === 'string' ? (rowIdOf(text) as UserId | undefined) : undefined
}

/** Returns the ids of members. What cannot be the id of a user is left out, as are users whom the directory lacks. */
const userIdsOf = (value: Json | undefined): Either<ReadFailure, readonly UserId[]> => {
  const values = Array.isArray(value)
    ? (value as readonly Json[])
    : value === undefined || value === null
      ? []
      : [value]
  if (values.length > maxMembers) return left(TooMany(`A request names at most ${maxMembers} members.`))
  return right(values.map(userIdOf).filter((id) => id !== undefined))
}

interface GroupChange {
  readonly group: GroupContent
  readonly members: readonly MemberChange[]
}

const withoutMembers = (body: FreeObject): FreeObject =>
  Object.fromEntries(Object.entries(body).filter(([name]) => name.toLowerCase() !== 'members'))

const readGroupBody = (body: FreeObject): Either<ReadFailure, { group: GroupContent; userIds: readonly UserId[] }> => {
  const read = failing(readResource(groupShape, withoutMembers(body)))
  if (isLeft(read)) return read
  const group = groupContent(read.right)
  const userIds = userIdsOf(keyed(body, 'members'))
  if (isLeft(group)) return group
  return isLeft(userIds) ? userIds : right({ group: group.right, userIds: userIds.right })
}

/** Reads a new group. */
export const readGroup = readGroupBody

/** Reads a group that replaces another one, with all of its members. */
export const replaceGroup = (body: FreeObject) => (): Either<ReadFailure, GroupChange> => {
  const read = readGroupBody(body)
  if (isLeft(read)) return read
  const { group, userIds } = read.right
  return right({ group, members: [{ verb: 'replace', userIds }] })
}

/** Returns the ids that a filter such as `value eq "12"` names; undefined for another filter. */
const idsOfFilter = (filter: Filter): readonly (UserId | undefined)[] | undefined => {
  if (filter.kind === 'either') {
    const [first, second] = filter.of.map(idsOfFilter)
    return first === undefined || second === undefined ? undefined : [...first, ...second]
  }
  const isValue = filter.kind === 'compare' && filter.by === 'eq' && filter.path.toLowerCase() === 'value'
  return isValue ? [userIdOf(filter.value)] : undefined
}

/** Reads an operation on members; undefined if it is about something else. */
const memberChange = ({ op, path, value }: PatchOperation): Either<ReadFailure, MemberChange> | undefined => {
  const verb = patchVerb(op)
  if (
    verb === undefined ||
    path === undefined ||
    !/^(?:urn:ietf:params:scim:schemas:core:2\.0:group:)?members\b/i.test(path)
  )
    return undefined
  const parsed = parsePatchPath(path.slice(path.toLowerCase().lastIndexOf('members')))
  const isWhole = !isLeft(parsed) && parsed.right.part === undefined && parsed.right.path.toLowerCase() === 'members'
  if (isLeft(parsed) || !isWhole) return left(InvalidPath(`The path ${path.slice(0, 100)} is not valid.`))
  const { elements } = parsed.right
  if (elements !== undefined) {
    const named = idsOfFilter(elements)
    if (verb !== 'remove' || named === undefined)
      return left(InvalidPath('Members are named by members[value eq "id"], and removed so.'))
    return right({ verb, userIds: named.filter((id) => id !== undefined) })
  }
  if (verb === 'remove' && (value === undefined || value === null)) return right({ verb: 'replace', userIds: [] })
  const ids = userIdsOf(value)
  return isLeft(ids) ? ids : right({ verb, userIds: ids.right })
}

/** Divides an operation without a path into the members and the rest. */
const divided = (operation: PatchOperation): readonly PatchOperation[] => {
  const { op, path, value } = operation
  if (path !== undefined || !isObject(value) || keyed(value, 'members') === undefined) return [operation]
  const rest = withoutMembers(value)
  const members: PatchOperation = { op, path: 'members', value: keyed(value, 'members') }
  return Object.keys(rest).length === 0 ? [members] : [{ op, value: rest }, members]
}

/** Reads a PATCH of a group. The members of the group are not read for it. */
export const patchGroup =
  (body: FreeObject) =>
  ({ displayName, externalId }: ProvisionedGroup): Either<ReadFailure, GroupChange> => {
    const operations = readOperations(body)
    if (isLeft(operations)) return operations
    const members: MemberChange[] = []
    const others: PatchOperation[] = []
    for (const operation of operations.right.flatMap(divided)) {
      const change = memberChange(operation)
      if (change === undefined) others.push(operation)
      else if (isLeft(change)) return change
      else members.push(change.right)
    }
    const before = externalId === undefined ? { displayName } : { displayName, externalId }
    const patched = failing(applyPatch(groupShape, before, others))
    if (isLeft(patched)) return patched
    const group = groupContent(patched.right)
    return isLeft(group) ? group : right({ group: group.right, members })
  }
