import { isLeft } from 'fp-ts/lib/Either.js'
import { makeOpenLocalSignIn } from '../../../core/identity-providers/local-sign-in.ts'
import { ProviderUnitOfWorkPort } from '../../../core/identity-providers/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { OrganizationStorePort } from '../../../core/organizations/ports.ts'
import { StartRefused } from '../../part/boot.ts'
import type { CommonOptions, ExitCode, PartContext } from '../../part/command-context.ts'
import { printJson } from '../../part/command-context.ts'
import { operatorCall } from '../../part/operator.ts'

export interface LocalSignInOptions extends CommonOptions {
  readonly organization?: string
}

/** Accepts passwords again. It is recorded in the audit log as a change of the operator. */
export const openLocalSignIn = (context: PartContext, options: LocalSignInOptions): Promise<ExitCode> =>
  context.onStore(options, async ({ container }) => {
    const { organization: name } = options
    const organization =
      name === undefined ? undefined : await container.resolve(OrganizationStorePort).findByName(name)
    if (name !== undefined && organization === undefined)
      throw new StartRefused([`The organization ${name} does not exist.`])
    const open = makeOpenLocalSignIn({
      unitOfWork: container.resolve(ProviderUnitOfWorkPort),
      clock: container.resolve(ClockPort),
    })
    const opened = await open(operatorCall('admin.localSignIn'), organization?.id)
    if (isLeft(opened)) throw new Error('nothing refuses this change')
    const facts = { local_sign_in: 'on', of: name ?? 'the site' }
    if (options.json === true) printJson(context, facts)
    else context.print(`Passwords are accepted again: ${facts.of}.`)
    return 0 as const
  })
