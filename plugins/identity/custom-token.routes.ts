import { CustomTokensOff } from '../../core/identity/custom-token-ports.ts'
import { UserMissing } from '../../core/identity/find-user.ts'
import { signedIn, write } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { ExtIdpToken } from './codecs.ts'

export const getExtIdpToken = defineRoute({
  id: 'identity.getExtIdpToken',
  method: 'GET',
  path: '/user/extidp-token',
  summary: 'Sign a token with which the caller signs in at the external identity provider',
  description:
    'Exists on vendor-hosted deployments only. The token is good for an hour at most, and no longer than the access token that asks. 503 while the operator has set no key to sign with.',
  tag: 'Identity - Users & Settings',
  access: signedIn,
  scope: write('user'),
  gate: 'vendor-hosted',
  refusesSudo: true,
  ok: json(200, ExtIdpToken, { customToken: 'eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJ1aWQiOiI3In0.c2lnbmF0dXJl' }),
  failures: [CustomTokensOff, UserMissing],
})
