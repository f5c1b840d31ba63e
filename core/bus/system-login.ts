import type { KeySafe } from './key-safe.ts'
import type { BusIdentityStore, BusMint, SystemLogin } from './ports.ts'
import type { BusRights } from './types.ts'

export interface SystemLoginDeps {
  readonly identities: Pick<BusIdentityStore, 'find'>
  readonly mint: BusMint
  readonly safe: KeySafe
}

/** Answers a fresh login, known to this process alone; undefined while the deployment has no keys. */
export type MakeLogin = () => Promise<SystemLogin | undefined>

const loginOf =
  ({ identities, mint, safe }: SystemLoginDeps, kind: 'system' | 'platform', rights: BusRights): MakeLogin =>
  async () => {
    const account = await identities.find(kind)
    if (account === undefined) return undefined
    const user = mint.newKey('user')
    // The server ends a connection when its claims are over, and this one must last; its key is nowhere but here.
    const claims = await mint.userClaims(await safe.open(account), user.publicKey, { name: 'moorage', rights, expiresAt: undefined, isBearer: false })
    return { claims, seed: user.seed }
  }

/** Of the system account: to hand over the claims of accounts. */
export const makeSystemLogin = (deps: SystemLoginDeps): MakeLogin => loginOf(deps, 'system', { publish: ['$SYS.REQ.>'], subscribe: ['_INBOX.>'] })

/** Of the platform's account: to tell how tasks go, and to wake workers. */
export const makePlatformLogin = (deps: SystemLoginDeps): MakeLogin =>
  loginOf(deps, 'platform', {
    publish: ['natjobs.>', 'notifications.*', '$JS.API.>'],
    subscribe: ['natjobs.>', '_INBOX.>'],
  })
