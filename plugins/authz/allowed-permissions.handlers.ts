import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { ListAllowedPermissions } from '../../core/authz/allowed-permissions.ts'
import type { AllowedPermissions } from '../../core/authz/types.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import { getAllowedPermissions, listAllowedPermissions } from './allowed-permissions.routes.ts'

const toWire = ({ type, id, relations }: AllowedPermissions) => ({ objectType: type, objectID: id, allowedPermissions: relations })

export const allowedPermissionsRoutes = (list: ListAllowedPermissions): readonly BoundRoute[] => [
  handle(getAllowedPermissions, async ({ params, call, grant }) => {
    const object = { objectType: params.objectType, objectID: params.objID }
    const answers = await list(call, { context: grant.context, objects: [object], isBatch: false })
    if (isLeft(answers)) return answers
    return right(toWire(answers.right[0] ?? { type: params.objectType, id: params.objID, relations: [] }))
  }),
  handle(listAllowedPermissions, async ({ body, call, grant }) => {
    const answers = await list(call, { context: grant.context, objects: body, isBatch: true })
    return isLeft(answers) ? answers : right(answers.right.map(toWire))
  }),
]
