import type { KeySafe } from './key-safe.ts'
import type { BusIdentityStore, BusMint, SystemLogin } from './ports.ts'

export interface SystemLoginDeps {
  readonly identities: Pick<BusIdentityStore, 'find'>
  readonly mint: BusMint
  readonly safe: KeySafe
}

/** A fresh login of the system account, known to this process alone; undefined while the deployment has no keys. */
export const makeSystemLogin =
  ({ identities, mint, safe }: SystemLoginDeps) =>
  async (): Promise<SystemLogin | undefined> => {
    const system = await identities.find('system')
    if (system === undefined) return undefined
    const user = mint.newKey('user')
    // The server ends a connection when its claims are over, and this one must last; its key is nowhere but here.
    const claims = await mint.userClaims(await safe.open(system), user.publicKey, {
      name: 'moorage', rights: { publish: ['$SYS.REQ.>'], subscribe: ['_INBOX.>'] }, expiresAt: undefined, isBearer: false,
    })
    return { claims, seed: user.seed }
  }
