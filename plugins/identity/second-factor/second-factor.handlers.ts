import { right } from 'fp-ts/lib/Either.js'
import { AttemptThrottlePort, OnLockedPort } from '../../../core/identity/attempt-ports.ts'
import {
  CredentialStorePort,
  IdentitySettingsPort,
  IdentityStoresPort,
  IdentityUnitOfWorkPort,
  DomainNamesPort,
  PasswordHasherPort,
  TokenDigestPort,
} from '../../../core/identity/ports.ts'
import { isEnrolled } from '../../../core/identity/second-factor/codes.ts'
import {
  makeDisableSecondFactor,
  makeEnrollSecondFactor,
  makeOfferSecondFactor,
  makeReplaceRecoveryCodes,
  makeResetSecondFactor,
} from '../../../core/identity/second-factor/enrollment.ts'
import { OneTimePasswordsPort, QrCodesPort, UseOneTimeCodePort } from '../../../core/identity/second-factor/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import type { Secret } from '../../../core/kernel/secret.ts'
import { EntropyPort, SecretBoxPort } from '../../../core/kernel/secret.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { proofOf } from '../proof-wire.ts'
import {
  adminResetSecondFactor,
  disableSecondFactor,
  enrollSecondFactor,
  offerSecondFactor,
  replaceRecoveryCodes,
  showSecurity,
} from './second-factor.routes.ts'

const linesOf = (codes: readonly Secret[]): string => codes.map((code) => code.reveal()).join('\n')

export const secondFactorGroup = defineGroup({
  needs: {
    clock: ClockPort,
    credentials: CredentialStorePort,
    digest: TokenDigestPort,
    entropy: EntropyPort,
    domains: DomainNamesPort,
    hasher: PasswordHasherPort,
    onLocked: OnLockedPort,
    oneTimePasswords: OneTimePasswordsPort,
    qrCodes: QrCodesPort,
    secretBox: SecretBoxPort,
    settings: IdentitySettingsPort,
    stores: IdentityStoresPort,
    throttle: AttemptThrottlePort,
    unitOfWork: IdentityUnitOfWorkPort,
    useOneTimeCode: UseOneTimeCodePort,
  },
  routes: (given) => [
    handle(showSecurity, async ({ principal }) => right(await given.stores.secondFactors.find(principal.userId)), {
      reply: (secondFactor) => ({ twoFAEnrolled: isEnrolled(secondFactor) }),
    }),
    handle(offerSecondFactor, makeOfferSecondFactor(given), {
      reply: async ({ seed, uri }) => ({ twoFASecret: seed.reveal(), twoFAImageURL: await given.qrCodes.dataUrl(uri) }),
    }),
    handle(enrollSecondFactor, makeEnrollSecondFactor(given), { input: ({ body }) => body.passCode, reply: linesOf }),
    handle(replaceRecoveryCodes, makeReplaceRecoveryCodes(given), {
      input: ({ body }) => proofOf(body),
      reply: linesOf,
    }),
    handle(disableSecondFactor, makeDisableSecondFactor(given), { input: ({ body }) => proofOf(body) }),
    handle(adminResetSecondFactor, makeResetSecondFactor(given), { input: ({ params }) => params.username }),
  ],
})
