import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { PermissionRef } from '../kernel/access.ts'
import { byPermissionKey, permissionKey } from '../kernel/access.ts'
import type { Failure } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Rights } from '../kernel/rights.ts'
import { excessOf } from '../kernel/rights.ts'
import type { AuthorizationSchema } from './schema.ts'

/** The name is empty or too long, or contains invisible characters. */
export const RoleNameRefused = defineFailure(
  'RoleNameRefused',
  'Unprocessable',
  'The name of the role is empty or too long.',
)
/** A role without permissions gives nothing: it should be deleted instead. */
export const RolePermissionsEmpty = defineFailure(
  'RolePermissionsEmpty',
  'Unprocessable',
  'A role must have at least one permission.',
)
/** A permission that no plugin declares. */
export const PermissionUnknown = defineFailure(
  'PermissionUnknown',
  'Invalid',
  'A permission does not exist on this deployment.',
)
/** A permission is missing another one that it requires. */
export const PermissionIncomplete = defineFailure(
  'PermissionIncomplete',
  'Invalid',
  'A permission lacks another permission that it requires.',
)
/** The role has a permission that the caller does not hold. */
export const PermissionNotHeld = defineFailure(
  'PermissionNotHeld',
  'Forbidden',
  'The caller cannot give a permission that the caller does not have.',
)

/** In UTF-16 units. The column holds twice as many, because a lower-case form can be longer. */
const maxRoleNameLength = 100

const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

/** Parses a role's name: trimmed, composed (NFC), 1 to 100 characters, none of them invisible. */
export const parseRoleName = (text: string): Either<Failure<'RoleNameRefused'>, string> => {
  const name = text.trim().normalize('NFC')
  return name.length >= 1 && name.length <= maxRoleNameLength && !invisible.test(name)
    ? right(name)
    : left(RoleNameRefused(`A role name must have 1 to ${maxRoleNameLength} visible characters.`))
}

/**
 * Parses the permissions of a role, each once: all known, with every required associated permission.
 * Failures: RolePermissionsEmpty, PermissionUnknown, PermissionIncomplete (the last two list every such permission in
 * `errors`).
 */
export const parseRolePermissions = (
  schema: AuthorizationSchema,
  wanted: readonly PermissionRef[],
): Either<Failure<'RolePermissionsEmpty' | 'PermissionUnknown' | 'PermissionIncomplete'>, readonly PermissionRef[]> => {
  const chosen = new Map(wanted.map((ref) => [permissionKey(ref), ref]))
  if (chosen.size === 0) return left(RolePermissionsEmpty('A role must have at least one permission.'))

  const unknown = [...chosen.values()].filter((ref) => schema.permission(ref) === undefined).map(named)
  if (unknown.length > 0)
    return left(PermissionUnknown(`Unknown permission: ${unknown.join(', ')}`, { errors: unknown }))

  const missing = [...chosen.values()].flatMap((ref) =>
    (schema.permission(ref)?.associated ?? [])
      .filter((other) => other.required && !chosen.has(permissionKey(other)))
      .map((other) => `${named(ref)} requires ${named(other)}`),
  )
  if (missing.length > 0)
    return left(PermissionIncomplete(`${missing.join('; ')} in the same role.`, { errors: missing }))
  return right([...chosen.values()].map(({ namespace, action }) => ({ namespace, action })).sort(byPermissionKey))
}

/**
 * Checks that the caller holds every permission of the role.
 * Failure: PermissionNotHeld, with each permission that the caller does not hold in `errors`.
 */
export const mayGivePermissions = (
  giver: Rights,
  permissions: readonly PermissionRef[],
): Either<Failure<'PermissionNotHeld'>, void> => {
  const beyond = excessOf(giver, 'none', permissions).permissions.map(named)
  return beyond.length === 0
    ? right(undefined)
    : left(
        PermissionNotHeld(`You cannot give permissions that you do not have: ${beyond.join(', ')}`, { errors: beyond }),
      )
}

const named = ({ namespace, action }: PermissionRef): string => `${namespace}: ${action}`
