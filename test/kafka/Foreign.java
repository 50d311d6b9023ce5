import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

/** Kafka's own client, which knows nothing of us: `put brokers topic codec…` or `read brokers topic`. */
public class Foreign {
  public static void main(String[] args) throws Exception {
    if (args[0].equals("put")) put(args[1], args[2], Arrays.asList(args).subList(3, args.length));
    else read(args[1], args[2]);
  }

  static void put(String brokers, String topic, List<String> codecs) throws Exception {
    for (String codec : codecs) {
      Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", brokers, "linger.ms", 50));
      settings.put("compression.type", codec);
      try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
        for (int n = 0; n < 20; n++) {
          var record = new ProducerRecord<byte[], byte[]>(topic, 0, bytes(codec), bytes((codec + n + ' ').repeat(200)));
          record.headers().add("codec", bytes(codec));
          producer.send(record);
        }
      }
    }
    try (var producer = new KafkaProducer<>(Map.of("bootstrap.servers", (Object) brokers), new ByteArraySerializer(), new ByteArraySerializer())) {
      var tombstone = new ProducerRecord<byte[], byte[]>(topic, 0, bytes("gone"), null);
      tombstone.headers().add("trace", new byte[] {(byte) 0xff, 0, (byte) 0x80, 7}).add("nothing", null);
      producer.send(tombstone).get();
      producer.send(new ProducerRecord<byte[], byte[]>(topic, 0, null, bytes("no key"))).get();
    }
  }

  static void read(String brokers, String topic) {
    Map<String, Object> settings = Map.of("bootstrap.servers", brokers, "isolation.level", "read_committed");
    try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      List<TopicPartition> places = new ArrayList<>();
      for (var each : consumer.partitionsFor(topic)) places.add(new TopicPartition(topic, each.partition()));
      consumer.assign(places);
      consumer.seekToBeginning(places);
      var ends = consumer.endOffsets(places);
      while (places.stream().anyMatch(place -> consumer.position(place) < ends.get(place))) {
        for (var record : consumer.poll(Duration.ofMillis(200))) {
          StringBuilder line = new StringBuilder("{\"partition\":" + record.partition() + ",\"key\":" + base64(record.key()));
          line.append(",\"value\":" + base64(record.value()) + ",\"headers\":{");
          String comma = "";
          for (var header : record.headers()) {
            line.append(comma + '"' + header.key() + "\":" + base64(header.value()));
            comma = ",";
          }
          System.out.println(line + "}}");
        }
      }
    }
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String base64(byte[] bytes) {
    return bytes == null ? "null" : '"' + Base64.getEncoder().encodeToString(bytes) + '"';
  }
}
