import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { IssueCredentials, IssuedCredentials } from '../../core/bus/issue-credentials.ts'
import type { BusPurpose } from '../../core/bus/types.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import { getBusAdminCredentials, getBusCredentials, getBusResourceHistory, getBusUserCredentials } from './credentials.routes.ts'

const lifeSeconds = 24 * 3600

const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

const toWire = ({ endpoints, file }: IssuedCredentials) => ({ endpoints, credentials: base64(file.reveal()) })

export const credentialRoutes = (issue: IssueCredentials): readonly BoundRoute[] => {
  const issueTo = (call: SignedInCall, purpose: BusPurpose) => {
    const { userId: ownerId, login, tokenExpiresAt: notAfter } = call.principal
    return issue(call, { ownerId, login, purpose, lifeSeconds, notAfter })
  }
  const platformWire = async (call: SignedInCall, purpose: BusPurpose) => {
    const issued = await issueTo(call, purpose)
    return isLeft(issued) ? issued : right({ ...toWire(issued.right), account: issued.right.account })
  }
  return [
    handle(getBusCredentials, async ({ call }) => {
      const issued = await issueTo(call, 'own')
      return isLeft(issued) ? issued : right(toWire(issued.right))
    }),
    handle(getBusAdminCredentials, ({ call }) => platformWire(call, 'admin')),
    handle(getBusUserCredentials, ({ call }) => platformWire(call, 'progress')),
    handle(getBusResourceHistory, ({ call }) => platformWire(call, 'history')),
  ]
}
