import type { ServerOptions } from '../../part/server-connection.ts'
import type { KubeconfigOptions } from './kubeconfig.ts'
import type { Describe } from '../../part/describe.ts'
import { examples, withServer } from '../../part/describe.ts'

export const kubeconfigCommands: Describe = (program, run, context) => {
  const kubeconfig = withServer(program.command('kubeconfig'))
    .description(
      'Print a kubeconfig for a cluster. No credential is in it: kubectl runs this program for one that lives an hour.',
    )
    .argument('<owner/cluster>', 'the account that has the cluster, a slash, and the cluster’s name')
    .option('--command <path>', 'how kubectl starts this program', 'moorage')
    .addHelpText(
      'after',
      `
It asks a running server over HTTP, in your name: sign in with moorage login, or give it an access token with the scope
write:cluster (read:cluster for kubectl get alone). kubectl needs the same when it runs: the login, MOORAGE_TOKEN, or the file
that --token-file names.

kubectl starts \`moorage\` from your PATH; --command names it where it is elsewhere.
${examples('export MOORAGE_SERVER=https://moorage.example.com MOORAGE_TOKEN=...', 'moorage kubeconfig acme/prod > prod.kubeconfig', 'kubectl --kubeconfig prod.kubeconfig get namespaces', 'moorage kubeconfig acme/prod --token-file ~/.moorage-token --command /opt/moorage/bin/moorage')}`,
    )
    .action((cluster: string, options: KubeconfigOptions) =>
      run(async () => (await import('./kubeconfig.ts')).kubeconfigPrint(context, options, cluster)),
    )

  withServer(kubeconfig.command('credential'))
    .description(
      'Print a short-lived credential for one cluster, as kubectl asks for it (ExecCredential, ' +
        'client.authentication.k8s.io/v1).',
    )
    .argument('<owner/cluster>', 'as for moorage kubeconfig')
    .addHelpText(
      'after',
      `
kubectl runs this by itself. Your access token is exchanged for one that reaches the Kubernetes API of this cluster alone, for
an hour. It is kept in $XDG_CACHE_HOME/moorage (else ~/.cache/moorage), readable by you alone, and used again while the server
accepts it.
${examples('moorage kubeconfig credential acme/prod --server https://moorage.example.com')}`,
    )
    // The parent has the same options, and parses those before its subcommand.
    .action((cluster: string, _options: ServerOptions, command) =>
      run(async () =>
        (await import('./kubeconfig.ts')).kubeconfigCredential(context, command.optsWithGlobals(), cluster),
      ),
    )
}
