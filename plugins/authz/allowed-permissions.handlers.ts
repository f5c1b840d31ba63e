import { makeListAllowedPermissions } from '../../core/authz/allowed-permissions.ts'
import { AuthorizationFactsPort, AuthorizationSchemaPort } from '../../core/authz/ports.ts'
import type { AllowedPermissions } from '../../core/authz/types.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { getAllowedPermissions, listAllowedPermissions } from './allowed-permissions.routes.ts'

const toWire = ({ type, id, relations }: AllowedPermissions) => ({
  objectType: type,
  objectID: id,
  allowedPermissions: relations,
})

export const allowedPermissionsGroup = defineGroup({
  needs: { schema: AuthorizationSchemaPort, facts: AuthorizationFactsPort },
  routes: (given) => [
    handle(getAllowedPermissions, makeListAllowedPermissions(given), {
      input: ({ params, grant }) => ({
        context: grant.context,
        objects: [{ objectType: params.objectType, objectID: params.objID }],
        isBatch: false,
      }),
      reply: ([answer], { params }) => toWire(answer ?? { type: params.objectType, id: params.objID, relations: [] }),
    }),
    handle(listAllowedPermissions, makeListAllowedPermissions(given), {
      input: ({ body, grant }) => ({ context: grant.context, objects: body, isBatch: true }),
      reply: (answers) => answers.map(toWire),
    }),
  ],
})
