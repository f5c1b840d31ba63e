export interface RunningHub {
  /** Kubeconfig files with tokens. */
  readonly hub: string
  readonly spoke: string
  /** The example spokes; the last one is not accepted. */
  readonly names: readonly string[]
  readonly clusters: number
  readonly set: string
}

/** What `npm run test-hub` prints when everything runs. */
export const hubText = ({ hub, spoke, names, clusters, set }: RunningHub): string => {
  const [last = 'spoke-1', accepted] = [names.at(-1), names.slice(0, -1)]
  return `
The test hub runs. Ctrl-C ends it.

  HUB=${hub}
  SPOKE=${spoke}

  accepted, in the set ${set}: ${accepted.length === 0 ? 'none' : accepted.join(', ')}
  waits to be accepted: ${names.length === 0 ? 'none' : last}${clusters > 0 ? `\n  without agents: ${clusters} clusters in 50 sets` : ''}
  SPOKE is a cluster without an agent yet: import it, and its agent starts.

The service must accept clusters on this machine: MOORAGE_KUBERNETES_ALLOW=public,private,loopback npm start
BASE, ADMIN, JSON and the organization acme are those of docs/quick-start.md, which also installs a feature set. Then:

  kubectl --kubeconfig $HUB get managedclusters,managedclustersets
  node -p 'JSON.stringify({ basicInfo: { name: "hub", displayName: "Hub" }, provider: { accessConfig: require("fs").readFileSync(process.argv[1], "utf8") } })' $HUB > import.json
  curl -sSf -H "$ADMIN" -H "$JSON" -d @import.json $BASE/clustersv2/acme/import
  curl -sSf -H "$ADMIN" $BASE/clusters/acme/hubs
  curl -sSf -H "$ADMIN" $BASE/clusters/acme/hub/not-accepted-clusters
  curl -sSf -H "$ADMIN" -H "$JSON" -d '{"clusters":["${last}"]}' $BASE/clusters/acme/hub/accept-spoke
  kubectl --kubeconfig $HUB get managedcluster ${last}
  curl -sSf -H "$ADMIN" $BASE/clusters/acme/hub/clustersets
  curl -sSf -H "$ADMIN" $BASE/clusters/acme/hub/clustersets/${set}/featuresets
  curl -sSf -H "$ADMIN" $BASE/clusters/acme/hub/clustersets/${set}/sync-status/all-features   # {} until a feature set is installed
  kubectl --kubeconfig $HUB get --raw /apis/gateway.open-cluster-management.io/v1alpha1/clustergateways/${accepted[0] ?? last}/proxy/version
`
}
