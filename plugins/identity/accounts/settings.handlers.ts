import { right } from 'fp-ts/lib/Either.js'
import { defaultPageSizes, makeChangePageSizes, makeGetOwnAccount } from '../../../core/identity/accounts/profiles.ts'
import type { PageSizes } from '../../../core/identity/accounts/ports.ts'
import { makeDeleteOwnAccount } from '../../../core/identity/accounts/removal.ts'
import { makeEditOwnProfile } from '../../../core/identity/accounts/user-changes.ts'
import { makeChangeOwnPassword } from '../../../core/identity/authentication/passwords.ts'
import { AttemptThrottlePort, OnLockedPort } from '../../../core/identity/attempt-ports.ts'
import {
  CommonPasswordsPort,
  CredentialStorePort,
  IdentitySettingsPort,
  IdentityStoresPort,
  IdentityUnitOfWorkPort,
  DomainNamesPort,
  PasswordHasherPort,
} from '../../../core/identity/ports.ts'
import { UseOneTimeCodePort } from '../../../core/identity/second-factor/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { optionalSecret, secret } from '../../../core/kernel/secret.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { passwordPolicyOf } from '../passwords.ts'
import { clearedCookies } from '../sessions/session-wire.ts'
import {
  changePageSizes,
  changePassword,
  deleteAccount,
  editProfile,
  editUserSettings,
  getPageSizes,
  getProfile,
  getUserSettings,
} from './settings.routes.ts'
import { settingsWire } from './codecs.ts'
import { profileWire } from './user-wire.ts'

export const settingsGroup = defineGroup({
  needs: {
    clock: ClockPort,
    commonPasswords: CommonPasswordsPort,
    credentials: CredentialStorePort,
    domains: DomainNamesPort,
    hasher: PasswordHasherPort,
    onLocked: OnLockedPort,
    settings: IdentitySettingsPort,
    stores: IdentityStoresPort,
    throttle: AttemptThrottlePort,
    unitOfWork: IdentityUnitOfWorkPort,
    useOneTimeCode: UseOneTimeCodePort,
  },
  routes: (given) => [
    handle(getUserSettings, makeGetOwnAccount(given), { reply: settingsWire }),
    handle(editUserSettings, makeEditOwnProfile(given), {
      input: ({
        body: {
          full_name: fullName,
          hide_email: hideEmail,
          diff_view_style: diffViewStyle,
          hide_activity: hideActivity,
          ...rest
        },
      }) => definedFields({ fullName, hideEmail, diffViewStyle, hideActivity, ...rest }),
      reply: settingsWire,
    }),
    handle(getProfile, makeGetOwnAccount(given), { reply: profileWire }),
    handle(editProfile, makeEditOwnProfile(given), {
      input: ({ body: { full_name: fullName, keep_email_private: hideEmail, ...rest } }) =>
        definedFields({ fullName, hideEmail, ...rest }),
      reply: profileWire,
    }),
    handle(changePassword, makeChangeOwnPassword({ ...given, passwords: passwordPolicyOf(given) }), {
      input: ({ body }) => ({
        oldPassword: secret(body.old_password),
        password: secret(body.password),
        retyped: optionalSecret(body.retype),
        revokesTokens: body.revoke_tokens ?? false,
      }),
    }),
    handle(deleteAccount, makeDeleteOwnAccount(given), {
      input: ({ body }) => ({ password: optionalSecret(body.password), passCode: body.passCode }),
      reply: () => clearedCookies(given.settings),
    }),
  ],
})

const pageSizesWire = ({ productUi, consoleUi, platformUi }: PageSizes) => ({
  productUI: productUi,
  consoleUI: consoleUi,
  platformUI: platformUi,
})

export const pageSizeGroup = defineGroup({
  needs: { stores: IdentityStoresPort, unitOfWork: IdentityUnitOfWorkPort },
  routes: (given) => [
    handle(
      getPageSizes,
      async ({ principal }) => right((await given.stores.pageSizes.find(principal.userId)) ?? defaultPageSizes),
      {
        reply: pageSizesWire,
      },
    ),
    handle(changePageSizes, makeChangePageSizes(given), {
      input: ({ body }) =>
        definedFields({ productUi: body.productUI, consoleUi: body.consoleUI, platformUi: body.platformUI }),
      reply: pageSizesWire,
    }),
  ],
})
