/** The servers of MOORAGE_BUS_URL, each as `nats://host:port`: a user and password in it mean nothing to a server that goes by claims. */
export const natsServers = (busUrl: string): readonly string[] =>
  busUrl
    .split(',')
    .map((part) => part.trim().replace(/^nats:\/\//, ''))
    .map((part) => part.slice(part.lastIndexOf('@') + 1))
    .filter((part) => part !== '')
    .map((part) => `nats://${part}`)
