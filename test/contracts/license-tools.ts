import { execFileSync } from 'node:child_process'
import { operatorCall } from '../../composition/part/operator.ts'
import { makeAddAuthority } from '../../core/contracts/authorities.ts'
import { AuthorityStorePort, ContractUnitOfWorkPort, LicenseSignerPort } from '../../core/contracts/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { EntropyPort, SecretBoxPort } from '../../core/kernel/secret.ts'
import { unwrap } from '../support/outcome.ts'
import type { TestService } from '../support/service.ts'

/** Adds an authority as `moorage licenses init` does. */
export const addAuthority = async (
  { running }: TestService,
  { organization, rotate = false }: { readonly organization?: string; readonly rotate?: boolean } = {},
): Promise<void> => {
  const { resolve } = running.container
  const add = makeAddAuthority({
    authorities: resolve(AuthorityStorePort),
    clock: resolve(ClockPort),
    entropy: resolve(EntropyPort),
    secretBox: resolve(SecretBoxPort),
    signer: resolve(LicenseSignerPort),
    unitOfWork: resolve(ContractUnitOfWorkPort),
  })
  unwrap(await add(operatorCall('licenses.init'), { organization, own: undefined, rotate }))
}

/** Returns what openssl writes, whether it succeeds or fails. */
export const openssl = (...args: readonly string[]): string => {
  try {
    return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    return `${stdout}${stderr}`
  }
}
