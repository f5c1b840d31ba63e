import { readFileSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { certificatesIn, readLicense, revocationsIn } from '../../../adapters/licenses/license-signer.ts'
import { systemClock } from '../../../adapters/system/system-clock.ts'
import { makeAddAuthority } from '../../../core/contracts/authorities.ts'
import { licenseFaults } from '../../../core/contracts/licenses.ts'
import { AuthorityStorePort, ContractUnitOfWorkPort, LicenseSignerPort } from '../../../core/contracts/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { EntropyPort, secret, SecretBoxPort } from '../../../core/kernel/secret.ts'
import { operatorCall } from '../../part/operator.ts'
import { StartRefused } from '../../part/boot.ts'
import type { CommonOptions, ExitCode, PartContext } from '../../part/command-context.ts'
import { printJson } from '../../part/command-context.ts'

export interface LicensesInitOptions extends CommonOptions {
  readonly organization?: string
  readonly certificate?: string
  readonly key?: string
  readonly rotate?: boolean
}
export interface LicensesVerifyOptions {
  readonly ca: string
  readonly cluster?: string
  readonly feature?: string
  readonly crl?: string
  readonly json?: boolean
}

const readText = (file: string): string => {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new StartRefused([`The file ${file} cannot be read: ${(error as Error).message}`])
  }
}

/** Sets up the certificate authority of licenses, or replaces it. */
export const licensesInit = (context: PartContext, options: LicensesInitOptions): Promise<ExitCode> =>
  context.onStore<ExitCode>(options, async ({ container: { resolve } }) => {
    if ((options.certificate === undefined) !== (options.key === undefined)) {
      context.say('--certificate and --key belong together: give both, or neither.')
      return 2
    }
    const own =
      options.certificate === undefined || options.key === undefined
        ? undefined
        : { certificatePem: readText(options.certificate), key: secret(readText(options.key)) }
    const add = makeAddAuthority({
      authorities: resolve(AuthorityStorePort),
      clock: resolve(ClockPort),
      entropy: resolve(EntropyPort),
      secretBox: resolve(SecretBoxPort),
      signer: resolve(LicenseSignerPort),
      unitOfWork: resolve(ContractUnitOfWorkPort),
    })
    const added = await add(operatorCall('licenses.init'), {
      organization: options.organization,
      own,
      rotate: options.rotate === true,
    })
    if (isLeft(added)) {
      context.say(added.left.message)
      return 1
    }
    const { id, certificatePem } = added.right
    if (options.json === true) printJson(context, { id, certificate: certificatePem })
    else context.print(certificatePem.trimEnd())
    return 0
  })

/** Checks a license as a verifier in a cluster does, without the service. */
export const licensesVerify = async (
  context: PartContext,
  options: LicensesVerifyOptions,
  file: string,
): Promise<ExitCode> => {
  const authorities = certificatesIn(readText(options.ca))
  if (authorities.length === 0) {
    context.say(`The file ${options.ca} has no certificate in PEM.`)
    return 2
  }
  const now = systemClock.now()
  const license = readLicense(readText(file), authorities, options.cluster)
  const revocations =
    options.crl === undefined ? undefined : await revocationsIn(readText(options.crl), authorities, now)
  const faults = licenseFaults(license, { now, feature: options.feature, revocations })
  const { serial, clusterUid, features, plan, flags, notBefore, notAfter } = license
  if (options.json === true)
    printJson(context, {
      valid: faults.length === 0,
      faults,
      serial,
      cluster: clusterUid,
      features,
      plan,
      flags,
      notBefore,
      notAfter,
    })
  else {
    context.print(`serial    ${serial}`)
    context.print(`cluster   ${clusterUid}`)
    context.print(`features  ${features.join(', ')}`)
    context.print(`valid     ${notBefore.toISOString()} to ${notAfter.toISOString()}`)
    for (const fault of faults) context.print(`refused   ${fault}`)
    if (faults.length === 0) context.print('accepted')
  }
  return faults.length === 0 ? 0 : 1
}
