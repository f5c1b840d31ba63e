import { isLeft, right } from 'fp-ts/lib/Either.js'
import { makeIssueCustomToken } from '../../core/identity/issue-custom-token.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import { getExtIdpToken } from './custom-token.routes.ts'
import type { IdentityGiven } from './needs.ts'

export const customTokenRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const issue = makeIssueCustomToken({ ...given, issuer: given.customTokens })
  return [
    handle(getExtIdpToken, async ({ call }) => {
      const issued = await issue(call)
      return isLeft(issued) ? issued : right({ customToken: issued.right.reveal() })
    }),
  ]
}
