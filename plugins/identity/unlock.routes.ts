import { UserMissing } from '../../core/identity/find-user.ts'
import { siteAdmin, write } from '../kit/access.ts'
import { empty } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { UserPath } from './codecs.ts'

export const adminUnlockUser = defineRoute({
  id: 'identity.adminUnlockUser',
  method: 'POST',
  path: '/admin/users/{username}/unlock',
  summary: 'Let a user in again',
  description:
    'Ends a lock after failed sign-ins or one-time codes and forgets the failures; makes an inactive account active and lifts a prohibition to sign in. An account that was deactivated, or that waits for its address to be confirmed, stays as it is. Other instances may take up to five seconds to notice. Nothing to do is 204, too.',
  tag: 'Administration',
  access: siteAdmin,
  scope: write('admin'),
  params: UserPath,
  ok: empty(204),
  failures: [UserMissing],
})
