import { isLeft } from 'fp-ts/lib/Either.js'
import { compileSchema } from '../../core/authz/schema.ts'
import type { AuthorizationSchema } from '../../core/authz/schema.ts'
import type { Catalogue } from '../../core/authz/types.ts'
import { authorizationObjectTypes } from '../../plugins/authz/relations.ts'
import { rolePermissions } from '../../plugins/authz/permissions.ts'
import { clusterPermissions } from '../../plugins/clusters/permissions.ts'
import { clusterObjectTypes } from '../../plugins/clusters/relations.ts'
import { organizationPermissions } from '../../plugins/organizations/permissions.ts'
import { organizationRelations, teamRelations } from '../../plugins/organizations/relations.ts'

/** What the plugins of this build contribute, as the service compiles it. */
export const catalogue: Catalogue = {
  permissions: [...organizationPermissions, ...rolePermissions, ...clusterPermissions],
  objectTypes: [organizationRelations, teamRelations, ...clusterObjectTypes, ...authorizationObjectTypes],
}

export const compiled = (from: Catalogue): AuthorizationSchema => {
  const schema = compileSchema(from)
  if (isLeft(schema)) throw new Error(schema.left.join('\n'))
  return schema.right
}

export const schema: AuthorizationSchema = compiled(catalogue)
