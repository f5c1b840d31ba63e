import type { Describe } from '../../part/describe.ts'
import { examples, withServerAndJson } from '../../part/describe.ts'
import type { LoginOptions } from './login.ts'
import type { ServerOptions } from '../../part/server-connection.ts'

export const loginCommands: Describe = (program, run, context) => {
  const command = (name: string) => withServerAndJson(program.command(name)).argument('[server]', 'as --server')
  const of = <Options extends ServerOptions>(server: string | undefined, options: Options): Options =>
    server === undefined ? options : { ...options, server }

  command('login')
    .description('Sign in at a server by a page in your browser. Other commands then need no access token.')
    .option('--device', 'show a code for the browser of any device, and open none here')
    .addHelpText(
      'after',
      `
The login is kept in $XDG_CONFIG_HOME/moorage/logins.json (else ~/.config), readable by you alone, and is renewed as it is
used. It ends with moorage logout, or when you withdraw it on your account. MOORAGE_TOKEN and --token-file take precedence.
${examples('moorage login https://moorage.example.com', 'moorage login https://moorage.example.com --device', 'moorage kubeconfig acme/prod --server https://moorage.example.com')}`,
    )
    .action((server: string | undefined, options: LoginOptions) =>
      run(async () => (await import('./login.ts')).login(context, of(server, options))),
    )

  command('logout')
    .description('End the login at a server.')
    .addHelpText('after', examples('moorage logout https://moorage.example.com'))
    .action((server: string | undefined, options: ServerOptions) =>
      run(async () => (await import('./login.ts')).logout(context, of(server, options))),
    )

  command('whoami')
    .description('Print who you are at a server.')
    .addHelpText('after', examples('moorage whoami https://moorage.example.com', 'moorage whoami --json'))
    .action((server: string | undefined, options: ServerOptions) =>
      run(async () => (await import('./login.ts')).whoAmI(context, of(server, options))),
    )
}
