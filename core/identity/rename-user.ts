import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { parseAccountName } from '../kernel/ids.ts'
import { postIfAddressed, renamedMail } from './account-mail.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { UserNameRefused } from './create-user.ts'
import { userMissing } from './find-user.ts'
import type { IdentityChanges, IdentityStores } from './ports.ts'

type RenameFailure = Failure<'UserMissing'> | Failure<'UserNameRefused'> | Failure<'UserNameTaken'>

/**
 * Gives a user another name. The old one leads to the user until somebody takes it. Tokens and sessions belong to the
 * account, not to its name, so they keep working.
 */
export const makeRenameUser =
  (deps: { readonly stores: IdentityStores; readonly unitOfWork: UnitOfWork<IdentityChanges> }) =>
  async (call: SignedInCall, login: string, newLogin: string): Outcome<RenameFailure, void> => {
    const found = await deps.stores.users.byLogin(login)
    if (found === undefined) return left(userMissing())
    const name = parseAccountName(newLogin)
    if (isLeft(name)) return left(UserNameRefused(name.left.message))
    return deps.unitOfWork.run<RenameFailure, void>(call, async ({ users, audit, mail }) => {
      const user = await users.lock(found.id)
      if (user === undefined) return left(userMissing())
      if (user.login === name.right) return right(undefined)
      const renamed = await users.rename(user, name.right)
      if (isLeft(renamed)) return renamed
      await audit.record({
        action: 'user.renamed',
        objectType: 'user',
        objectId: user.id,
        objectName: name.right,
        tenantId: user.id,
        changes: { from: user.login, to: name.right },
      })
      await postIfAddressed(mail, renamedMail(user, user.login, name.right))
      return right(undefined)
    })
  }
