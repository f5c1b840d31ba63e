import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { operatorCall } from '../../composition/part/operator.ts'
import { makeAddAuthority } from '../../core/contracts/authorities.ts'
import type { LicenseAuthority } from '../../core/contracts/ports.ts'
import { AuthorityStorePort, ContractUnitOfWorkPort, LicenseSignerPort } from '../../core/contracts/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { EntropyPort, secret, SecretBoxPort } from '../../core/kernel/secret.ts'
import { unwrap } from './outcome.ts'
import type { TestService } from './service.ts'

const makeByOpenssl = (): LicenseAuthority => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-authority-'))
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'ca.pem')]
  const form = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-subj',
    '/O=Vendor/CN=License authority',
    '-addext',
    'keyUsage=critical,keyCertSign,cRLSign',
  ]
  execFileSync(
    'openssl',
    ['req', '-x509', '-new', '-nodes', '-days', '30', ...form, '-keyout', key, '-out', certificate],
    { stdio: 'ignore' },
  )
  const made = { certificatePem: readFileSync(certificate, 'utf8'), key: secret(readFileSync(key, 'utf8')) }
  rmSync(folder, { recursive: true })
  return made
}
let made: LicenseAuthority | undefined

/** Sets up an authority for licenses without the thread that signs, whose start takes most of the time. */
export const plantLicenseAuthority = async ({ running }: TestService): Promise<LicenseAuthority> => {
  const { resolve } = running.container
  made ??= makeByOpenssl()
  const add = makeAddAuthority({
    authorities: resolve(AuthorityStorePort),
    clock: resolve(ClockPort),
    entropy: resolve(EntropyPort),
    secretBox: resolve(SecretBoxPort),
    signer: { ...resolve(LicenseSignerPort), faultOf: async () => undefined },
    unitOfWork: resolve(ContractUnitOfWorkPort),
  })
  unwrap(await add(operatorCall('test.plantLicenseAuthority'), { organization: '', own: made, rotate: false }))
  return made
}
