import { createServer } from 'node:net'

// Below the range from which the usual kernels take the ports of outgoing connections: between our look and
// the server's bind only another chooser like us could take the port.
const LOW = 20_000
const HIGH = 32_000

export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>()
  while (found.size < count) {
    const port = LOW + Math.floor(Math.random() * (HIGH - LOW))
    if (await free(port)) found.add(port)
  }
  return [...found]
}

function free(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
