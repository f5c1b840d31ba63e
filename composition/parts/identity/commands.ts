import type { CommonOptions } from '../../part/command-context.ts'
import type { CreateTokenOptions, CreateUserOptions, SetPasswordOptions } from './admin.ts'
import type { LocalSignInOptions } from './local-sign-in.ts'
import type { Describe } from '../../part/describe.ts'
import { examples, withJson } from '../../part/describe.ts'

const passwordOption = [
  '--password-file <file>',
  'file with the password in its first line, - to be asked for it or to pipe it in; generated and printed ' +
    'when left out',
] as const

export const adminCommands: Describe = (program, run, context) => {
  const admin = program
    .command('admin')
    .description('Site-admin work straight on the store; no running service is needed.')

  withJson(admin.command('create-user <username>'))
    .description('Create a user account.')
    .requiredOption('--email <address>', 'e-mail address')
    .option('--admin', 'make a site admin')
    .option(...passwordOption)
    .addHelpText(
      'after',
      examples(
        'moorage admin create-user alice --email alice@example.com',
        'pass show moorage | moorage admin create-user bob --email bob@example.com --admin --password-file -',
      ),
    )
    .action((username: string, options: CreateUserOptions) =>
      run(async () => (await import('./admin.ts')).createUser(context, username, options)),
    )

  withJson(admin.command('set-password <username>'))
    .description("Set a user's password and end the user's sessions.")
    .option(...passwordOption)
    .addHelpText(
      'after',
      examples('moorage admin set-password admin', 'moorage admin set-password alice --password-file secret.txt'),
    )
    .action((username: string, options: SetPasswordOptions) =>
      run(async () => (await import('./admin.ts')).setPassword(context, username, options)),
    )

  withJson(admin.command('reset-second-factor <username>'))
    .description('Remove the second factor of a user who lost it and the recovery codes, and end the sessions.')
    .addHelpText('after', examples('moorage admin reset-second-factor admin'))
    .action((username: string, options: CommonOptions) =>
      run(async () => (await import('./admin.ts')).resetSecondFactor(context, username, options)),
    )

  withJson(admin.command('unlock <username>'))
    .description('Let a user sign in again who is locked after failed attempts, inactive or prohibited.')
    .addHelpText('after', examples('moorage admin unlock alice'))
    .action((username: string, options: CommonOptions) =>
      run(async () => (await import('./admin.ts')).unlockUser(context, username, options)),
    )

  withJson(admin.command('local-sign-in'))
    .description(
      'Accept passwords again, for the site or for an organization, when an identity provider is out of order.',
    )
    .option('--organization <name>', 'the organization; the site when left out')
    .addHelpText('after', examples('moorage admin local-sign-in', 'moorage admin local-sign-in --organization acme'))
    .action((options: LocalSignInOptions) =>
      run(async () => (await import('./local-sign-in.ts')).openLocalSignIn(context, options)),
    )

  withJson(admin.command('create-token <username>'))
    .description('Make a personal access token; it is printed once.')
    .requiredOption('--name <name>', "the token's name")
    .option('--scopes <list>', 'what it grants, comma-separated', 'all')
    .addHelpText(
      'after',
      examples(
        'moorage admin create-token alice --name laptop',
        'moorage admin create-token ci --name deploy --scopes write:cluster,read:misc',
      ),
    )
    .action((username: string, options: CreateTokenOptions) =>
      run(async () => (await import('./admin.ts')).createToken(context, username, options)),
    )
}
