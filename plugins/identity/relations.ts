import type { ObjectTypeDefinition } from '../../core/kernel/access.ts'

/** The caller. The allowed-permissions routes accept no other id. */
const user: ObjectTypeDefinition = {
  type: 'user',
  listed: true,
  scope: 'user',
  reading: ['can_view'],
  relations: {
    can_view: [{ by: 'self' }],
    can_edit: [{ by: 'self' }],
  },
}

/** The caller's own access tokens. */
const accessToken: ObjectTypeDefinition = {
  type: 'token',
  place: { in: 'caller', key: 'id', rows: 'own' },
  listed: true,
  scope: 'user',
  reading: ['can_view'],
  relations: {
    can_view: [{ by: 'owner' }],
    can_delete: [{ by: 'owner' }],
  },
}

export const identityObjectTypes: readonly ObjectTypeDefinition[] = [user, accessToken]
