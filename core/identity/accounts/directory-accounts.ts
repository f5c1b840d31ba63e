import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { changedFields, isUnchanged } from '../../kernel/json.ts'
import { auditOfUser } from '../audit.ts'
import { parseEmailAddress } from '../emails/email-address.ts'
import { replacePrimaryEmail } from '../emails/own-emails.ts'
import type { DomainNames } from '../ports.ts'
import type { DirectoryAccounts } from './directory-ports.ts'
import { endCredentials } from './access-end.ts'
import { auditOfRemoved, deactivateHeld } from './removal.ts'
import { isLastActingAdmin, LastAdmin } from './user-changes.ts'

/** Returns a DirectoryAccounts. See the port for its guarantees. */
export const makeDirectoryAccounts = ({ domains }: { readonly domains: DomainNames }): DirectoryAccounts => ({
  async edit(stores, user, { fullName, email }, at) {
    const address = email === undefined ? right(undefined) : parseEmailAddress(email, domains)
    if (isLeft(address)) return address
    if (address.right !== undefined) {
      const replaced = await replacePrimaryEmail(stores, user, address.right, at)
      if (isLeft(replaced)) return replaced
    }
    const changed = changedFields(user, { fullName: fullName ?? user.fullName })
    if (!isUnchanged(changed)) await stores.users.update(user.id, changed)
    if (isUnchanged(changed) && address.right === undefined) return right(undefined)
    const shown = address.right === undefined ? changed : { ...changed, email: 'changed' }
    await stores.audit.record(auditOfUser(user, 'user.updated', shown))
    return right(undefined)
  },

  async setActive(stores, user, isActive, at) {
    if (user.isActive === isActive) return right(undefined)
    if (!isActive && (await isLastActingAdmin(stores, user)))
      return left(LastAdmin('This is the last active site administrator.'))
    await stores.users.update(user.id, { isActive })
    if (!isActive) await endCredentials(stores, user, at)
    await stores.audit.record(auditOfUser(user, 'user.updated', { isActive }))
    return right(undefined)
  },

  async remove(stores, user, by, at) {
    if ((await stores.holdings.of(user.id)).length > 0) return deactivateHeld(stores, user, by, at)
    if (await isLastActingAdmin(stores, user)) return left(LastAdmin('This is the last active site administrator.'))
    await stores.users.remove(user.id)
    await stores.audit.record(auditOfRemoved(user, 'user.deleted'))
    return right(undefined)
  },
})
