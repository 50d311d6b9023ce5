import com.rabbitmq.client.*;
import java.nio.charset.StandardCharsets;
import java.util.*;

/** RabbitMQ's own Java client, which knows nothing of us: `put url exchange key`, or `take url exchange key count`. */
public class Foreign {
  public static void main(String[] args) throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(args[1]);
    try (Connection connection = factory.newConnection(); Channel channel = connection.createChannel()) {
      if (args[0].equals("put")) put(channel, args[2], args[3]);
      else take(channel, args[2], args[3], Integer.parseInt(args[4]));
    }
  }

  static void put(Channel channel, String exchange, String key) throws Exception {
    channel.confirmSelect();
    Map<String, Object> headers = new HashMap<>();
    headers.put("tenant", "böhm");
    headers.put("count", 7L);
    headers.put("exact", new java.math.BigDecimal("1.25"));
    headers.put("yes", true);
    headers.put("list", List.of("a", 2));
    headers.put("table", Map.of("in", "side"));
    headers.put("bytes", new byte[] {(byte) 0xff, 0});
    var json = new AMQP.BasicProperties.Builder().contentType("application/json").messageId("java-1").headers(headers);
    channel.basicPublish(exchange, key, json.build(), bytes("{\"n\":1}"));
    channel.basicPublish(exchange, key, MessageProperties.PERSISTENT_TEXT_PLAIN, bytes("grüß Gott"));
    Map<String, Object> attributes = new HashMap<>();
    for (String[] each : new String[][] {{"specversion", "1.0"}, {"id", "java-2"}, {"source", "/java"}, {"type", key}})
      attributes.put("cloudEvents:" + each[0], each[1]);
    var event = new AMQP.BasicProperties.Builder().contentType("application/json").headers(attributes);
    channel.basicPublish(exchange, key, event.build(), bytes("{\"n\":2}"));
    channel.waitForConfirmsOrDie(20_000);
  }

  static void take(Channel channel, String exchange, String key, int count) throws Exception {
    channel.exchangeDeclare(exchange, "topic", true);
    String queue = channel.queueDeclare().getQueue();
    channel.queueBind(queue, exchange, key);
    System.out.println("ready");
    for (int got = 0; got < count; ) {
      GetResponse one = channel.basicGet(queue, true);
      if (one == null) {
        Thread.sleep(20);
        continue;
      }
      got++;
      var properties = one.getProps();
      System.out.print("{\"type\":" + quoted(properties.getContentType()) + ",\"id\":" + quoted(properties.getMessageId()));
      System.out.print(",\"mode\":" + properties.getDeliveryMode() + ",\"body\":" + base64(one.getBody()) + ",\"headers\":{");
      String comma = "";
      for (var each : new TreeMap<>(properties.getHeaders()).entrySet()) {
        System.out.print(comma + quoted(each.getKey()) + ":" + quoted(each.getValue().toString()));
        comma = ",";
      }
      System.out.println("}}");
    }
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String quoted(String text) {
    return text == null ? "null" : '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }

  static String base64(byte[] bytes) {
    return '"' + Base64.getEncoder().encodeToString(bytes) + '"';
  }
}
